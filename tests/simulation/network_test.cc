// The machine copes with everything that the simulated network can do: one scenario each.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/simulation/bulk.h"

using namespace tfabric;
using namespace tfabric::simulation;
using namespace std::chrono_literals;

TEST_CASE("equal flows share a bottleneck that marks") {
  const auto algorithm = GENERATE(stack::CongestionAlgorithm::cubic, stack::CongestionAlgorithm::dctcp);
  Scenario scenario = incast(1, 4);
  for (FlowOptions& flow : scenario.flows) {
    for (EndpointOptions& end : flow.ends) {
      end.tcp.congestion = algorithm;
      end.tcp.ecn = true;
    }
  }
  scenario.wires[scenario.wire_to({0, 0})].mark_bytes = 30'000;
  scenario.least_fairness = 0.8;
  const Report report = must(scenario);
  CAPTURE(static_cast<int>(algorithm), report.took / 1us);
  REQUIRE(report.took < 600ms);  // 320 ms on the wire
}

TEST_CASE("incast: a receiver that divides one window among its senders spares the switch's queue") {
  // The first windows of all (RFC 6928) fit into the queue, and the first ones announced do not.
  Scenario scenario = incast(1, 16);
  const auto lost = [&] {
    std::uint64_t bytes = 0;
    for (const auto& flow : must(scenario).flows) {
      bytes += flow[0].bytes_retransmitted;
    }
    return bytes;
  };
  const std::uint64_t undivided = lost();
  const auto share = std::make_shared<stack::ReceiveShare>(
      stack::ReceiveShareOptions{.under_way = 200'000, .held = 1u << 30, .least = 3000});
  for (FlowOptions& flow : scenario.flows) {
    flow.ends[1].tcp.receive_share = share;
  }
  const std::uint64_t divided = lost();
  CAPTURE(undivided, divided);
  REQUIRE(undivided > 1'000'000);
  REQUIRE(5 * divided < undivided);
}

TEST_CASE("a flow on another rail does not wait for those of a full one") {
  Scenario scenario = incast(1, 3);
  scenario.rails = 2;
  scenario.wires.resize(scenario.rails * scenario.wires_per_rail(), scenario.wires[0]);
  scenario.flows[2].rail = 1;
  const Report report = must(scenario);
  // The two share their rail as luck has it, and the later one has waited for the other.
  const Duration alone = report.flows[2][0].busy;
  const Duration later = std::max(report.flows[0][0].busy, report.flows[1][0].busy);
  CAPTURE(alone / 1us, report.flows[0][0].busy / 1us, report.flows[1][0].busy / 1us);
  REQUIRE(4 * alone < 3 * later);
}

TEST_CASE("options that a middlebox strips are done without") {
  const std::uint8_t stripped =
      GENERATE(strip::sack, strip::timestamps, strip::window_scale, std::uint8_t{7});
  Scenario scenario = bulk(1);
  scenario.flows[0].ends[0].writer.bytes = 2'000'000;
  for (WireOptions& wire : scenario.wires) {
    wire.middlebox = {.on_syn = stripped, .on_others = stripped};
    wire.loss = 0.002;
  }
  const Report report = must(scenario);
  CAPTURE(static_cast<int>(stripped), report.took / 1us);
  REQUIRE(sender(report).snd_wnd <= ((stripped & strip::window_scale) != 0 ? 65535u : ~0u));
}

TEST_CASE("a largest segment that a middlebox lowers is kept to") {
  Scenario scenario = bulk(1);
  scenario.wires[1].middlebox.largest_mss = 700;
  scenario.wires[0].mtu_bytes = 720;
  const Report report = must(scenario);
  REQUIRE(sender(report).mss == 700 - 12);
  REQUIRE(sender(report).bytes_retransmitted == 0);
}

TEST_CASE("a path that has become narrower, and says so, is followed") {
  Scenario scenario = bulk(1);
  scenario.wires[0].mtu_bytes = 1000;
  scenario.wires[0].mtu_from = scenario.start + 20ms;
  scenario.wires[0].mtu_told = true;
  const Report report = must(scenario);
  REQUIRE(sender(report).mss == 980 - 12);
}

TEST_CASE("a path that swallows long packets without a word is survived by its size being found") {
  Scenario scenario = bulk(1);
  scenario.wires[0].mtu_bytes = 1400;
  scenario.wires[0].mtu_from = scenario.start + GENERATE(0ms, 20ms);
  const Report report = must(scenario);
  REQUIRE(sender(report).mss < 1380);
  REQUIRE(sender(report).timeouts <= 4);
}

TEST_CASE(
    "a path that swallows long packets ends in an error at worst without SACK, or if it is too narrow") {
  Scenario scenario = bulk(1);
  const bool sack = GENERATE(false, true);
  scenario.flows[0].ends[0].tcp.sack = sack;
  scenario.wires[0].mtu_bytes = sack ? 1000 : 1400;
  (void)must(scenario);  // it ends, in time
}

TEST_CASE("a change of path is survived, to a slower and to a faster one") {
  Scenario scenario = bulk(1);
  scenario.wires[0].changes = {{scenario.start + 30ms, 12'500'000, 5ms},
                               {scenario.start + 300ms, 125'000'000, 100us}};
  const Report report = must(scenario);
  CAPTURE(report.took / 1us);
  REQUIRE(report.took < 700ms);
}

TEST_CASE("a host that freezes goes on when it thaws") {
  Scenario scenario = bulk(1);
  const std::size_t host = GENERATE(0u, 1u);
  scenario.hosts[host].freezes = {{scenario.start + 40ms, scenario.start + 540ms}};
  const Report report = must(scenario);
  CAPTURE(host, report.took / 1us);
  REQUIRE(report.took < 1s);
}

TEST_CASE("losses in bursts are repaired") {
  for (std::uint64_t seed = 1; seed <= seeds(5); ++seed) {
    Scenario scenario = bulk(seed);
    scenario.wires[0].turns_bad = 0.001;
    scenario.wires[0].turns_good = 0.1;
    scenario.wires[0].bad_loss = 0.7;
    const Report report = must(scenario);
    CAPTURE(seed, report.took / 1us);
    REQUIRE(report.took < 3s);
  }
}

TEST_CASE("damage that no checksum tells neither crashes a connection nor keeps it busy for ever") {
  for (std::uint64_t seed = 1; seed <= seeds(100); ++seed) {
    Scenario scenario = bulk(seed);
    scenario.must_succeed = false;
    scenario.flows[0].ends[0].writer.bytes = 200'000;
    for (WireOptions& wire : scenario.wires) {
      wire.damage = 0.05;
    }
    CAPTURE(seed);
    (void)must(scenario);
  }
}
