// The tools for a failing seed: the shrinker and the capture, on machines that lack a mechanism.
#include "tests/simulation/shrink.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/simulation/bulk.h"
#include "tests/simulation/capture.h"
#include "tests/simulation/scenario_text.h"

using namespace tfabric;
using namespace tfabric::simulation;
using namespace std::chrono_literals;

namespace {

// Six flows over two rails, much that does not matter, and one connection that has no timers.
Scenario failing() {
  Scenario scenario = incast(1, 6);
  scenario.rails = 2;
  scenario.wires.resize(scenario.rails * scenario.wires_per_rail(), scenario.wires[0]);
  for (WireOptions& wire : scenario.wires) {
    wire.loss = 0.05;
    wire.jitter = 10us;
    wire.duplicate = 0.01;
    wire.mark_bytes = 50'000;
  }
  for (std::size_t i = 0; i < scenario.flows.size(); ++i) {
    scenario.flows[i].rail = i % 2;
    scenario.flows[i].ends[0].writer.bytes = 100'000;
    scenario.flows[i].ends[1].reader.part = 0.5;
  }
  scenario.flows[3].ends[0].off = Mechanism::timers;
  return scenario;
}

std::uint32_t word_at(const Bytes& bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, &bytes.at(at), sizeof(word));
  return word;
}

}  // namespace

TEST_CASE("a failing scenario is reduced to what it needs to fail by the same property") {
  const Scenario scenario = failing();
  const Report report = run(scenario);
  REQUIRE(report.failure);
  const Shrunk shrunk = shrink(scenario);
  CAPTURE(to_text(shrunk.scenario), shrunk.runs);
  REQUIRE(shrunk.property == report.failure->property);
  REQUIRE(shrunk.scenario.flows.size() == 1);
  REQUIRE(shrunk.scenario.hosts.size() == 2);
  REQUIRE(shrunk.scenario.flows[0].ends[0].off == Mechanism::timers);
  REQUIRE(to_text(shrunk.scenario).size() < to_text(scenario).size() / 4);

  // The scenario that was written to a file fails again.
  const Result<Scenario> again = parse_scenario(to_text(shrunk.scenario));
  REQUIRE(again.ok());
  const Report repeated = run(*again);
  REQUIRE(repeated.failure);
  REQUIRE(repeated.failure->property == *shrunk.property);
}

TEST_CASE("a scenario that does not fail is left as it is") {
  const Shrunk shrunk = shrink(bulk(1));
  REQUIRE_FALSE(shrunk.property);
  REQUIRE(to_text(shrunk.scenario) == to_text(bulk(1)));
}

TEST_CASE("a capture is a list of pcapng blocks, with every packet twice: where it left and where it came") {
  Scenario scenario = bulk(1);
  scenario.flows[0].ends[0].writer.bytes = 100'000;
  Capture capture;
  const Report report = run(scenario, &capture);
  REQUIRE_FALSE(report.failure);
  const Bytes& file = capture.bytes();
  REQUIRE(word_at(file, 8) == 0x1a2b3c4d);
  std::size_t at = 0, packets = 0, interfaces = 0;
  while (at < file.size()) {
    const std::uint32_t type = word_at(file, at), size = word_at(file, at + 4);
    REQUIRE(size >= 12);
    REQUIRE(size % 4 == 0);
    REQUIRE(word_at(file, at + size - 4) == size);
    packets += type == 6 ? 1 : 0;
    interfaces += type == 1 ? 1 : 0;
    at += size;
  }
  REQUIRE(at == file.size());
  REQUIRE(interfaces == 2);
  REQUIRE(packets == 2 * report.packets);
}
