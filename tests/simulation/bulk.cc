#include "tests/simulation/bulk.h"

#include <catch2/catch.hpp>

namespace tfabric::simulation {

using namespace std::chrono_literals;

Scenario bulk(std::uint64_t seed) {
  Scenario scenario;
  scenario.seed = seed;
  scenario.start = Instant(10s);
  scenario.bound = 60s;
  scenario.must_succeed = true;
  for (std::size_t i = 0; i < 2; ++i) {
    HostOptions& host = scenario.hosts[i];
    host.name = i == 0 ? "A" : "B";
    host.ports = i == 0 ? stack::Ports{40000, 7} : stack::Ports{7, 40000};
    host.active = i == 0;
    host.writer = {.bytes = i == 0 ? 10'000'000u : 0u, .largest_chunk = 100'000};
    host.written_stream = i + 1;
    host.read_stream = 2 - i;
    scenario.wires[i].bytes_per_second = 125'000'000;
    scenario.wires[i].queue_bytes = 64u << 20;
    scenario.wires[i].delay = 500us;
  }
  return scenario;
}

Report must(const Scenario& scenario) {
  const Report report = run(scenario);
  INFO(report.failure.value_or(""));
  REQUIRE_FALSE(report.failure);
  return report;
}

}  // namespace tfabric::simulation
