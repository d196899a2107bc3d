// Takes all processors away from the other processes of a host for a part of every period, as a host does
// that runs too many virtual machines. tools/run-tests --stalled runs it beside the tests, of which none may
// fail.
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// The processors that this process may use.
std::vector<int> processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return found;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
  }
  return found;
}

// Goes before all others as far as this process may, and says how. Threads that start later inherit it.
std::string take_precedence() {
  sched_param parameter{};
  parameter.sched_priority = 1;
  if (sched_setscheduler(0, SCHED_FIFO, &parameter) == 0) return "SCHED_FIFO";
  const std::string why = std::strerror(errno);
  if (setpriority(PRIO_PROCESS, 0, -20) == 0) return fmt::format("nice -20 (SCHED_FIFO: {})", why);
  return fmt::format("no precedence (SCHED_FIFO: {}): the others only become slower", why);
}

// Keeps one processor busy for `taken` at the beginning of each period. All threads count from `begin`, so
// that they take all processors at the same time.
void stall(int cpu, Clock::time_point begin, Clock::duration taken, Clock::duration period) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
  for (Clock::time_point next = begin;; next += period) {
    std::this_thread::sleep_until(next);
    while (Clock::now() < next + taken) {
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  double taken_s = 3, period_s = 10, seconds = 0;
  CLI::App app(
      "Takes all processors for a part of every period, until it is killed: by SCHED_FIFO if it may, else by "
      "priority.");
  app.add_option("--take", taken_s, "seconds that it takes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--every", period_s, "seconds of a period")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", seconds, "ends after this time (0: never)")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  if (taken_s >= period_s) {
    fmt::print(stderr, "stall: --take must be less than --every\n");
    return 2;
  }
  const std::vector<int> cpus = processors();
  if (cpus.empty()) {
    fmt::print(stderr, "stall: sched_getaffinity: {}\n", std::strerror(errno));
    return 1;
  }
  // It must not outlive a script that is killed.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const std::string how = take_precedence();
  fmt::print("stall: {} processor(s), {} s of every {} s, by {}\n", cpus.size(), taken_s, period_s, how);
  std::fflush(stdout);
  const auto duration_of = [](double value) {
    return std::chrono::duration_cast<Clock::duration>(Seconds(value));
  };
  const Clock::time_point begin = Clock::now();
  for (const int cpu : cpus) {
    std::thread([=] { stall(cpu, begin, duration_of(taken_s), duration_of(period_s)); }).detach();
  }
  if (seconds > 0) {
    std::this_thread::sleep_for(Seconds(seconds));
    std::_Exit(0);
  }
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}
