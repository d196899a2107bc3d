#include "tests/simulation/campaign.h"

#include <fmt/format.h>

#include "tests/simulation/draw.h"
#include "tests/simulation/seeds.h"

namespace tfabric::simulation {
namespace {

SeedOutcome run_seed(const CampaignOptions& options, std::uint64_t seed) {
  Scenario scenario = draw_scenario(seed);
  for (FlowOptions& flow : scenario.flows) {
    flow.ends[0].off = flow.ends[1].off = options.off;
  }
  const Report report = options.run(scenario, nullptr);
  SeedOutcome outcome{.virtual_time = report.took,
                      .counts = {report.packets, report.bytes_read, scenario.must_succeed ? 1u : 0u,
                                 scenario.well_at != kNever ? 1u : 0u, scenario.least_fairness > 0 ? 1u : 0u,
                                 scenario.most_spurious_timeouts < 1 ? 1u : 0u}};
  if (report.failure) {
    outcome.failure = report.failure->text;
  }
  return outcome;
}

}  // namespace

CampaignResult run_campaign(const CampaignOptions& options) {
  const SeedTotals totals = run_seeds({.first = options.first,
                                       .last = options.last,
                                       .jobs = options.jobs,
                                       .progress = options.progress,
                                       .hang = options.hang,
                                       .program = "simulate",
                                       .arguments = options.off == Mechanism::none
                                                        ? std::string()
                                                        : fmt::format(" --off {}", to_string(options.off)),
                                       .run = [&](std::uint64_t seed) { return run_seed(options, seed); }});
  const auto& [packets, bytes, succeed, recover, fair, no_spurious_timeouts] = totals.counts;
  return {.runs = totals.runs,
          .failures = totals.failures,
          .packets = packets,
          .bytes = bytes,
          .succeed = succeed,
          .recover = recover,
          .fair = fair,
          .no_spurious_timeouts = no_spurious_timeouts,
          .virtual_time = totals.virtual_time,
          .took = totals.took};
}

}  // namespace tfabric::simulation
