// The program of the rails' simulation: runs many seeds over several processes, or one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>

#include "base/log.h"
#include "tests/simulation/rails/run.h"
#include "tests/simulation/rails/virtual_host.h"
#include "tests/simulation/seeds.h"
#include "transport/tcp/nic/eal.h"

using namespace tfabric;
using namespace tfabric::simulation;
using namespace tfabric::simulation::rails;

namespace {

constexpr int kFailed = 1, kUsage = 2;

int complain(const std::string& text) {
  fmt::print(stderr, "simulate_rails: {}\n", text);
  return kUsage;
}

void print_line(log::Level, log::Subsystem, const char*, int, std::string_view text) {
  fmt::print("{:>14.6f} s  {}\n", std::chrono::duration<double>(virtual_now().time_since_epoch()).count(),
             text);
}

Report run_scenario(const Scenario& scenario) {
  const Status dpdk = nic::start_eal({.hugepages = false, .memory_mib = 256});
  return dpdk ? run(scenario) : Report{.failure = dpdk.error().message};
}

SeedOutcome run_seed(std::uint64_t seed) {
  const Scenario scenario = draw_scenario(seed);
  const Report report = run_scenario(scenario);
  SeedOutcome outcome{.virtual_time = report.took, .counts = {report.packets, report.bytes, report.buried}};
  if (report.failure) {
    outcome.failure = fmt::format("{}\n{}", *report.failure, to_text(scenario));
  }
  return outcome;
}

int run_range(const std::string& seeds, unsigned jobs) {
  const auto range = parse_seed_range(seeds);
  if (!range) {
    return complain(fmt::format("--seeds {}: expected FROM..TO, as in 1..1000", seeds));
  }
  const SeedTotals totals = run_seeds({.first = range->first,
                                       .last = range->second,
                                       .jobs = jobs,
                                       .program = "simulate_rails",
                                       .arguments = {},
                                       .run = run_seed});
  fmt::print(
      "{} seeds, {} failed; {:.1f} hours of virtual time, {} packets, {} bytes, {} lanes buried; {:.0f} s\n",
      totals.runs, totals.failures,
      std::chrono::duration<double, std::ratio<3600>>(totals.virtual_time).count(), totals.counts[0],
      totals.counts[1], totals.counts[2], totals.took.count());
  return totals.failures == 0 ? 0 : kFailed;
}

int run_one(std::uint64_t seed, bool log) {
  log::set_sink(log ? print_line : nullptr);
  const Scenario scenario = draw_scenario(seed);
  fmt::print("{}", to_text(scenario));
  const Report report = run_scenario(scenario);
  fmt::print("{}; {} packets and {} bytes in {} us, {} lanes buried, {} bytes dealt again, digest {:x}\n",
             report.failure.value_or("all properties hold"), report.packets, report.bytes,
             report.took / std::chrono::microseconds(1), report.buried, report.dealt_again, report.digest);
  return report.failure ? kFailed : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Jobs over rails that come and go, in virtual time (docs/testing.md)");
  std::string seeds;
  std::uint64_t seed = 0;
  unsigned jobs = 1;
  bool log = false;
  auto* range = app.add_option("--seeds", seeds, "Run all seeds of FROM..TO");
  app.add_option("--jobs", jobs, "How many processes share them")->needs(range);
  app.add_option("--seed", seed, "Run one seed, and print its scenario")->excludes(range);
  app.add_flag("--log", log, "Print what the product logs, with the virtual time")->excludes(range);
  CLI11_PARSE(app, argc, argv);
  return seeds.empty() ? run_one(seed, log) : run_range(seeds, jobs);
}
