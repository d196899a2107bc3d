// The program of the rails' simulation: runs many seeds over several processes, or one.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <vector>

#include "base/log.h"
#include "tests/simulation/rails/run.h"
#include "tests/simulation/rails/virtual_host.h"
#include "transport/tcp/nic/eal.h"

using namespace tfabric;
using namespace tfabric::simulation::rails;

namespace {

constexpr int kFailed = 1, kUsage = 2;

// In memory that all processes share.
struct Board {
  std::atomic<std::uint64_t> next{0}, runs{0}, failures{0}, packets{0}, bytes{0}, buried{0};
  std::atomic<std::int64_t> virtual_nanoseconds{0};
};

bool start_dpdk() {
  const Status status = nic::start_eal({.hugepages = false, .memory_mib = 256});
  if (!status) {
    std::fprintf(stderr, "simulate_rails: %s\n", status.error().message.c_str());
  }
  return status.ok();
}

void print_line(log::Level, log::Subsystem, const char*, int, std::string_view text) {
  fmt::print("{:>14.6f} s  {}\n", std::chrono::duration<double>(virtual_now().time_since_epoch()).count(),
             text);
}

bool run_seed(std::uint64_t seed, Board& board) {
  const Scenario scenario = draw_scenario(seed);
  const Report report = run(scenario);
  ++board.runs;
  board.packets += report.packets;
  board.bytes += report.bytes;
  board.buried += report.buried;
  board.virtual_nanoseconds += report.took.count();
  if (!report.failure) {
    return true;
  }
  ++board.failures;
  // One write, so that the lines of several processes do not mix.
  const std::string text =
      fmt::format("{}seed {}: {}\nto repeat it: build/release/tests/simulate_rails --seed {}\n\n",
                  to_text(scenario), seed, *report.failure, seed);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return false;
}

[[noreturn]] void work(Board& board, std::uint64_t last) {
  if (!start_dpdk()) {
    _exit(kUsage);
  }
  for (std::uint64_t seed = board.next++; seed <= last; seed = board.next++) {
    run_seed(seed, board);
  }
  _exit(0);
}

void print(const Board& board, std::chrono::duration<double> took) {
  fmt::print(
      "{} seeds, {} failed; {:.1f} hours of virtual time, {} packets, {} bytes, {} lanes buried; {:.0f} s\n",
      board.runs.load(), board.failures.load(),
      std::chrono::duration<double, std::ratio<3600>>(Duration(board.virtual_nanoseconds)).count(),
      board.packets.load(), board.bytes.load(), board.buried.load(), took.count());
  std::fflush(stdout);
}

int run_range(std::uint64_t first, std::uint64_t last, unsigned jobs) {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  auto& board = *new (memory) Board;
  board.next = first;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<pid_t> workers;
  for (unsigned i = 0; i < jobs; ++i) {
    workers.push_back(fork());
    if (workers.back() == 0) {
      work(board, last);
    }
  }
  bool well = true;
  for (const pid_t worker : workers) {
    int status = 0;
    while (waitpid(worker, &status, WNOHANG) == 0) {
      static auto said = begin;
      usleep(20'000);
      if (const auto now = std::chrono::steady_clock::now(); now - said >= std::chrono::seconds(10)) {
        said = now;
        print(board, now - begin);
      }
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      well = false;
      fmt::print("a process ended with wait status {:#x}, at a seed not far below {}\n", status,
                 board.next.load());
    }
  }
  print(board, std::chrono::steady_clock::now() - begin);
  return well && board.failures == 0 ? 0 : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Jobs over rails that come and go, in virtual time (docs/testing.md)");
  std::string seeds;
  std::uint64_t seed = 0;
  unsigned jobs = 1;
  bool log = false;
  auto* range = app.add_option("--seeds", seeds, "Run all seeds of FROM..TO");
  app.add_option("--jobs", jobs, "How many processes share them")->needs(range)->check(CLI::Range(1, 64));
  app.add_option("--seed", seed, "Run one seed, and print its scenario")->excludes(range);
  app.add_flag("--log", log, "Print what the product logs, with the virtual time")->excludes(range);
  CLI11_PARSE(app, argc, argv);
  if (!seeds.empty()) {
    unsigned long long first = 0, last = 0;
    char rest = 0;
    if (std::sscanf(seeds.c_str(), "%llu..%llu%c", &first, &last, &rest) != 2 || first > last) {
      std::fprintf(stderr, "simulate_rails: --seeds %s: expected FROM..TO, as in 1..1000\n", seeds.c_str());
      return kUsage;
    }
    return run_range(first, last, jobs);
  }
  if (!start_dpdk()) {
    return kUsage;
  }
  log::set_sink(log ? print_line : nullptr);
  const Scenario scenario = draw_scenario(seed);
  fmt::print("{}", to_text(scenario));
  const Report report = run(scenario);
  fmt::print("{}; {} packets and {} bytes in {} us, {} lanes buried, {} bytes dealt again, digest {:x}\n",
             report.failure.value_or("all properties hold"), report.packets, report.bytes,
             report.took / std::chrono::microseconds(1), report.buried, report.dealt_again, report.digest);
  return report.failure ? kFailed : 0;
}
