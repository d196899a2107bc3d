// bench_comms: what comms cost that do nothing. One process opens pairs of comms to itself through a plugin,
// as an all-to-all of many ranks does of which few are busy, and reports the memory and the time of a pair,
// what the process costs while nothing is called, and what one busy pair is worth before and with all of
// them.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "tests/bench/self_pair.h"

namespace tfabric::bench {
namespace {

constexpr std::size_t kBusySize = 65536;
constexpr std::uint64_t kBusyCount = 20000, kBusyWarm = 500;

struct Report {
  double init_ms = 0;                           // with the loading of the library
  std::uint64_t before_kib = 0, after_kib = 0;  // resident
  double seconds = 0;                           // of making all pairs
  double wakeups = 0, cpu = 0;                  // a second of rest: of all threads, and parts of a CPU
  double alone_ns = 0, among_ns = 0;            // of a message of the busy pair
};

std::uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") {
      std::uint64_t kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

// Calls nothing for so long: what threads of the plugin do by themselves is all that happens.
void rest(std::chrono::seconds duration, Report& report) {
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  std::this_thread::sleep_for(std::chrono::seconds(2));  // what was under way ends
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  std::this_thread::sleep_for(duration);
  getrusage(RUSAGE_SELF, &after);
  const double seconds = std::chrono::duration<double>(duration).count();
  report.wakeups = static_cast<double>(after.ru_nvcsw - before.ru_nvcsw) / seconds;
  report.cpu = (seconds_of(after.ru_utime) + seconds_of(after.ru_stime) - seconds_of(before.ru_utime) -
                seconds_of(before.ru_stime)) /
               seconds;
}

Result<Report> run(const std::string& path, std::size_t count, std::chrono::seconds idle) {
  Report report;
  Instant began = monotonic_now();
  const auto passed = [&began] { return std::chrono::duration<double>(monotonic_now() - began).count(); };
  auto plugin = open_plugin(path);
  if (!plugin) return plugin.error();
  report.init_ms = 1000 * passed();
  auto busy = connect_to_itself(*plugin);
  if (!busy) return busy.error();
  auto alone = exchange(*plugin, *busy, kBusySize, kBusyCount, kBusyWarm);
  if (!alone) return alone.error();
  report.alone_ns = *alone;
  report.before_kib = resident_kib();
  began = monotonic_now();
  std::vector<SelfPair> pairs{*busy};
  for (std::size_t i = 0; i < count; ++i) {
    auto idle = connect_to_itself(*plugin);
    if (!idle) return idle.error();
    pairs.push_back(*idle);
  }
  report.seconds = passed();
  report.after_kib = resident_kib();
  if (idle > std::chrono::seconds(0)) rest(idle, report);
  auto among = exchange(*plugin, *busy, kBusySize, kBusyCount, kBusyWarm);
  if (!among) return among.error();
  report.among_ns = *among;
  for (const SelfPair& pair : pairs) {
    if (Status closed = close(*plugin, pair); !closed) return closed.error();
  }
  if (Status ended = plugin->finalize(); !ended) return ended.error();
  return report;
}

}  // namespace
}  // namespace tfabric::bench

int main(int argc, char** argv) {
  CLI::App app(
      "Idle comms of a process to itself: their memory and set-up, and what one busy pair loses by them");
  std::string plugin = tfabric::tools::default_plugin_path();
  std::size_t count = 1000;
  app.add_option("--plugin", plugin, "the plugin library")->capture_default_str();
  app.add_option("--pairs", count, "pairs of a sending and a receiving comm")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  int idle = 0;
  app.add_option("--rest", idle, "seconds in which nothing is called, after two more")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto report = tfabric::bench::run(plugin, count, std::chrono::seconds(idle));
  if (!report) {
    fmt::print(stderr, "bench_comms: {}\n", report.error().message);
    return 1;
  }
  const double comms = 2.0 * static_cast<double>(count);
  fmt::print(
      "{{\"comms\": {:.0f}, \"init_ms\": {:.1f}, \"kib_per_comm\": {:.2f}, \"resident_mib\": {:.0f}, "
      "\"comms_per_s\": {:.0f}, \"wakeups_per_s\": {:.1f}, \"idle_cpu\": {:.5f}, \"busy_alone_ns\": {:.0f}, "
      "\"busy_among_ns\": {:.0f}}}\n",
      comms, report->init_ms, static_cast<double>(report->after_kib - report->before_kib) / comms,
      static_cast<double>(report->after_kib) / 1024, comms / report->seconds, report->wakeups, report->cpu,
      report->alone_ns, report->among_ns);
  return 0;
}
