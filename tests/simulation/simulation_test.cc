// The simulation itself: a seed always gives the same run, and scenarios can be written and read.
#include <catch2/catch.hpp>

#include "tests/simulation/bulk.h"
#include "tests/simulation/capture.h"
#include "tests/simulation/draw.h"
#include "tests/simulation/scenario_text.h"

using namespace tfabric;
using namespace tfabric::simulation;

namespace {

std::uint64_t hash_of(const Scenario& scenario) {
  PacketHash hash;
  (void)run(scenario, &hash);
  return hash.value();
}

}  // namespace

TEST_CASE("a seed always gives the same packets at the same times, and another gives others") {
  for (std::uint64_t seed = 1; seed <= seeds(200); ++seed) {
    CAPTURE(seed);
    const std::uint64_t hash = hash_of(draw_scenario(seed));
    REQUIRE(hash == hash_of(draw_scenario(seed)));
    REQUIRE(hash != hash_of(draw_scenario(seed + 1)));
  }
}

TEST_CASE("a scenario that is written and read again gives the same packets") {
  for (std::uint64_t seed = 1; seed <= seeds(200); ++seed) {
    CAPTURE(seed);
    const Scenario scenario = draw_scenario(seed);
    const Result<Scenario> again = parse_scenario(to_text(scenario));
    INFO((again.ok() ? "" : again.error().message));
    REQUIRE(again.ok());
    REQUIRE(to_text(*again) == to_text(scenario));
    REQUIRE(hash_of(*again) == hash_of(scenario));
  }
}

TEST_CASE(
    "paths are drawn such as are met: MTUs that IPv6 allows, boxes that take a scale off either way or "
    "neither") {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    CAPTURE(seed);
    const Scenario scenario = draw_scenario(seed);
    const auto scale = [](const WireOptions& wire) { return wire.middlebox.on_syn & strip::window_scale; };
    for (const WireOptions& wire : scenario.wires) {
      REQUIRE((wire.mtu_bytes >= kLeastIpv6Segment || wire.mtu_bytes == 576 - 20));
      REQUIRE(scale(wire) == scale(scenario.wires[0]));
    }
  }
}

TEST_CASE("a scenario that cannot be run is refused with a word about what is wrong") {
  const auto [text, says] = GENERATE(table<std::string, std::string>({
      {"", "two hosts at least"},
      {"hosts", "name = value"},
      {"hosts = many", "expected a number"},
      {"hosts = 1000000", "at most"},
      {"hosts = 2\nwires = 2\nflows = 1\nflows.0.b.host = 1\nspeed = 3", "no such field"},
      {"hosts = 2\nwires = 2\nflows = 1", "neither end is active"},
      {"hosts = 2\nwires = 2\nflows = 1\nflows.0.a.active = 1", "same host"},
      {"hosts = 2\nwires = 2\nflows = 1\nflows.0.b.host = 2", "host 2 of 2"},
      {"hosts = 2\nwires = 2\nwires.0.delay = -1", "expected a number"},
      {"hosts = 2\nwires = 1\nflows = 1\nflows.0.b.host = 1", "1 wires instead of 2"},
      {"hosts = 2\nwires = 2\nflows = 1\nflows.0.b.host = 1\nflows.0.a.tcp.mss = 70000", "expected a number"},
      {"hosts = 2\nwires = 2\nflows = 2\nflows.0.a.active = 1\nflows.0.b.host = 1\n"
       "flows.1.a.active = 1\nflows.1.b.host = 1",
       "same ports"},
  }));
  CAPTURE(text);
  const Result<Scenario> scenario = parse_scenario(text);
  REQUIRE_FALSE(scenario.ok());
  CAPTURE(scenario.error().message);
  REQUIRE(scenario.error().message.find(says) != std::string::npos);
}
