#include "tests/simulation/bulk.h"

#include <catch2/catch.hpp>

namespace tfabric::simulation {

using namespace std::chrono_literals;

namespace {

FlowOptions bulk_flow(std::uint32_t from, std::uint32_t to) {
  FlowOptions flow;
  flow.ends[0] = {.host = from,
                  .port = static_cast<std::uint16_t>(40000 + from),
                  .active = true,
                  .writer = {.bytes = 10'000'000, .largest_chunk = 100'000},
                  .stream = from + 1};
  flow.ends[1] = {.host = to, .port = 7};
  return flow;
}

}  // namespace

Scenario bulk(std::uint64_t seed) {
  Scenario scenario{.seed = seed, .start = Instant(10s), .bound = 60s, .must_succeed = true};
  scenario.hosts.resize(2);
  scenario.wires.resize(2, {.bytes_per_second = 125'000'000, .queue_bytes = 64u << 20, .delay = 500us});
  scenario.flows = {bulk_flow(0, 1)};
  return scenario;
}

Scenario incast(std::uint64_t seed, std::uint32_t senders) {
  Scenario scenario{
      .seed = seed, .start = Instant(10s), .bound = 60s, .must_succeed = true, .switched = true};
  scenario.hosts.resize(senders + 1);
  scenario.wires.resize(scenario.wires_per_rail(),
                        {.bytes_per_second = 125'000'000, .queue_bytes = 256u << 10, .delay = 50us});
  for (std::uint32_t i = 1; i <= senders; ++i) {
    scenario.flows.push_back(bulk_flow(i, 0));
  }
  return scenario;
}

Report must(const Scenario& scenario) {
  const Report report = run(scenario);
  INFO((report.failure ? report.failure->text : ""));
  REQUIRE_FALSE(report.failure);
  return report;
}

}  // namespace tfabric::simulation
