// Shows that each property is really checked: a scenario keeps it with all mechanisms of the machine, and
// fails by it without the mechanism that it depends on.
#include <catch2/catch.hpp>

#include "tests/simulation/bulk.h"

using namespace tfabric;
using namespace tfabric::simulation;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kSeeds = 5;

Scenario small_bulk(std::uint64_t seed, std::uint64_t bytes) {
  Scenario scenario = bulk(seed);
  scenario.flows[0].ends[0].writer.bytes = bytes;
  return scenario;
}

// Switches the mechanism off in the first `flows` flows.
Scenario switch_off(Scenario scenario, Mechanism off, std::size_t flows) {
  for (std::size_t i = 0; i < flows; ++i) {
    scenario.flows[i].ends[0].off = scenario.flows[i].ends[1].off = off;
  }
  return scenario;
}

// With the mechanism all seeds succeed; without it, at least one fails by `property`.
template <class Make>
void require_needed(Mechanism off, Property property, Make make, std::size_t flows = 1) {
  std::string otherwise;
  bool fails = false;
  for (std::uint64_t seed = 1; seed <= kSeeds && !fails; ++seed) {
    CAPTURE(seed);
    const Scenario scenario = make(seed);
    (void)must(scenario);
    const Report report = run(switch_off(scenario, off, flows));
    fails = report.failure && report.failure->property == property;
    otherwise = report.failure ? report.failure->text : "all properties hold";
  }
  CAPTURE(to_string(off), to_string(property), otherwise);
  REQUIRE(fails);
}

Scenario with_outage(std::uint64_t seed, Duration length) {
  Scenario scenario = small_bulk(seed, 200'000);
  scenario.flows[0].ends[0].writer.pause = 1;
  scenario.flows[0].ends[0].writer.longest_pause = 50ms;
  scenario.flows[0].ends[0].tcp.max_rto = scenario.flows[0].ends[1].tcp.max_rto = 100ms;
  scenario.wires[0].outages = {{scenario.start + 5ms, scenario.start + 5ms + length}};
  return scenario;
}

}  // namespace

TEST_CASE("exactly once: without checksums, what the wire damages is read") {
  require_needed(Mechanism::checksum, Property::exactly_once_in_order, [](std::uint64_t seed) {
    Scenario scenario = small_bulk(seed, 1'000'000);
    scenario.wires[0].corrupt = 0.01;
    return scenario;
  });
}

TEST_CASE("in order: without sequence numbers, what was lost is missing") {
  require_needed(Mechanism::sequence_numbers, Property::exactly_once_in_order, [](std::uint64_t seed) {
    Scenario scenario = small_bulk(seed, 1'000'000);
    scenario.wires[0].loss = 0.01;
    return scenario;
  });
}

TEST_CASE("no deadlock: without timers, a loss at the end is never repaired") {
  require_needed(Mechanism::timers, Property::no_deadlock, [](std::uint64_t seed) {
    Scenario scenario = small_bulk(seed, 100'000);
    scenario.wires[0].loss = scenario.wires[1].loss = 0.1;
    return scenario;
  });
}

TEST_CASE("no livelock: without backoff, a dead path is flooded") {
  require_needed(Mechanism::backoff, Property::no_livelock,
                 [](std::uint64_t seed) { return with_outage(seed, 4s); });
}

TEST_CASE("bounded memory: without a window, a reader that rests is swamped") {
  require_needed(Mechanism::receive_window, Property::bounded_memory, [](std::uint64_t seed) {
    Scenario scenario = small_bulk(seed, 3'000'000);
    scenario.flows[0].ends[1].tcp.receive_buffer = 100'000;
    scenario.flows[0].ends[1].reader = {.stall = 1, .longest_stall = 500ms};
    return scenario;
  });
}

TEST_CASE("bounded recovery: without a largest time-out, data waits long after an outage") {
  require_needed(Mechanism::timeout_limit, Property::bounded_recovery, [](std::uint64_t seed) {
    Scenario scenario = with_outage(seed, 3s);
    scenario.well_at = scenario.wires[0].outages[0].until;
    scenario.recovers_within = 120ms;
    return scenario;
  });
}

TEST_CASE("bounded recovery: without SACK, many losses take many round trips") {
  require_needed(Mechanism::sack, Property::no_deadlock, [](std::uint64_t seed) {
    Scenario scenario = bulk(seed);
    scenario.bound = 450ms;
    scenario.wires[0].queue_bytes = 100'000;
    return scenario;
  });
}

TEST_CASE("fairness: who does not see the marks takes all from those who do") {
  require_needed(
      Mechanism::marks, Property::fairness,
      [](std::uint64_t seed) {
        Scenario scenario = incast(seed, 3);
        for (FlowOptions& flow : scenario.flows) {
          flow.ends[0].tcp.ecn = flow.ends[1].tcp.ecn = true;
        }
        scenario.wires[scenario.wire_to({0, 0})].mark_bytes = 30'000;
        scenario.least_fairness = 0.8;
        return scenario;
      },
      1);
}

TEST_CASE("no spurious time-outs: with a time-out that is not measured, most are") {
  require_needed(Mechanism::backoff, Property::no_spurious_timeouts, [](std::uint64_t seed) {
    Scenario scenario = small_bulk(seed, 1'000'000);
    scenario.most_spurious_timeouts = 0.01;
    return scenario;
  });
}
