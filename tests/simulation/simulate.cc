// The program of the simulation: runs many seeds, or repeats, captures or shrinks one scenario.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/simulation/campaign.h"
#include "tests/simulation/capture.h"
#include "tests/simulation/draw.h"
#include "tests/simulation/run.h"
#include "tests/simulation/scenario_text.h"
#include "tests/simulation/seeds.h"
#include "tests/simulation/shrink.h"

using namespace tfabric;
using namespace tfabric::simulation;

namespace {

struct Arguments {
  std::string seeds, scenario, pcapng, shrunk, off = "none";
  std::uint64_t seed = 0;
  unsigned jobs = 1;
  bool print = false;
};

constexpr int kFailed = 1, kUsage = 2;

int complain(const std::string& text) {
  fmt::print(stderr, "simulate: {}\n", text);
  return kUsage;
}

Result<Scenario> scenario_for(const Arguments& arguments) {
  if (arguments.scenario.empty()) {
    return draw_scenario(arguments.seed);
  }
  std::ifstream file(arguments.scenario);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return Error{Errc::invalid_argument,
                 fmt::format("{}: cannot be read; expected a file of `--print`'s lines", arguments.scenario)};
  }
  Result<Scenario> scenario = parse_scenario(text.str());
  if (!scenario.ok()) {
    return Error{Errc::invalid_argument, fmt::format("{}: {}", arguments.scenario, scenario.error().message)};
  }
  return scenario;
}

int run_range(const Arguments& arguments, Mechanism off) {
  const auto range = parse_seed_range(arguments.seeds);
  if (!range) {
    return complain(fmt::format("--seeds {}: expected FROM..TO, as in 1..100000", arguments.seeds));
  }
  const CampaignResult result =
      run_campaign({.first = range->first, .last = range->second, .jobs = arguments.jobs, .off = off});
  fmt::print("{} seeds, {} failed; {:.1f} hours of virtual time, {} packets, {} bytes; {:.0f} s\n",
             result.runs, result.failures,
             std::chrono::duration<double, std::ratio<3600>>(result.virtual_time).count(), result.packets,
             result.bytes, result.took.count());
  fmt::print("{} had to succeed, {} to recover in time, {} to be fair, {} to avoid needless time-outs\n",
             result.succeed, result.recover, result.fair, result.no_spurious_timeouts);
  return result.failures == 0 ? 0 : kFailed;
}

int save(const std::string& path, const Scenario& scenario) {
  std::ofstream file(path);
  file << to_text(scenario);
  return file.flush() ? 0 : complain(fmt::format("{}: cannot be written", path));
}

int run_one(const Arguments& arguments, Mechanism off) {
  Result<Scenario> drawn = scenario_for(arguments);
  if (!drawn.ok()) {
    return complain(drawn.error().message);
  }
  Scenario scenario = std::move(drawn.value());
  for (FlowOptions& flow : scenario.flows) {
    for (EndpointOptions& end : flow.ends) {
      end.off = off != Mechanism::none ? off : end.off;
    }
  }
  if (!arguments.shrunk.empty()) {
    const Shrunk shrunk = shrink(scenario);
    fmt::print("{} runs; fails by: {}\n", shrunk.runs,
               shrunk.property ? to_string(*shrunk.property) : "nothing");
    scenario = shrunk.scenario;
    if (const int status = save(arguments.shrunk, scenario); status != 0) {
      return status;
    }
  }
  if (arguments.print) {
    fmt::print("{}", to_text(scenario));
  }
  Capture capture;
  const Report report = run(scenario, arguments.pcapng.empty() ? nullptr : &capture);
  if (!arguments.pcapng.empty() && !capture.save(arguments.pcapng)) {
    return complain(fmt::format("{}: cannot be written", arguments.pcapng));
  }
  if (report.failure) {
    fmt::print("{}", report.failure->text);
    return kFailed;
  }
  fmt::print("all properties hold; {} packets in {} us\n", report.packets,
             report.took / std::chrono::microseconds(1));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("TCP machines over a bad network, in virtual time (docs/testing.md)");
  Arguments arguments;
  auto* seeds = app.add_option("--seeds", arguments.seeds, "Run all seeds of FROM..TO");
  app.add_option("--jobs", arguments.jobs, "How many processes share them")->needs(seeds);
  auto* seed = app.add_option("--seed", arguments.seed, "Run one seed")->excludes(seeds);
  app.add_option("--scenario", arguments.scenario, "Run the scenario of a file")
      ->excludes(seeds)
      ->excludes(seed);
  app.add_flag("--print", arguments.print, "Print the scenario")->excludes(seeds);
  app.add_option("--pcapng", arguments.pcapng, "Write all packets to a file")->excludes(seeds);
  app.add_option("--shrink", arguments.shrunk, "Reduce a failing scenario, and write it to a file")
      ->excludes(seeds);
  app.add_option("--off", arguments.off, "Without a mechanism of the machine; see switched_off.h");
  CLI11_PARSE(app, argc, argv);
  const auto off = mechanism_named(arguments.off);
  if (!off) {
    return complain(
        fmt::format("--off {}: expected a name of switched_off.h, as in --off timers", arguments.off));
  }
  return arguments.seeds.empty() ? run_one(arguments, *off) : run_range(arguments, *off);
}
