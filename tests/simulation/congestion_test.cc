// How the congestion controls fill a queue, and how losses affect them: one bulk transfer each. All take 250
// ms at least, and 100 more until the connection has ended.
#include <catch2/catch.hpp>

#include "tests/simulation/bulk.h"

using namespace tfabric;
using namespace tfabric::simulation;
using namespace std::chrono_literals;
using stack::CongestionAlgorithm;

namespace {

Scenario with(CongestionAlgorithm algorithm, std::uint64_t seed) {
  Scenario scenario = bulk(seed);
  for (EndpointOptions& end : scenario.flows[0].ends) {
    end.tcp.congestion = algorithm;
    end.tcp.ecn = true;
  }
  scenario.flows[0].ends[0].writer.bytes = 30'000'000;  // 240 ms on the wire
  return scenario;
}

}  // namespace

TEST_CASE("slow start slows down before it overflows a queue, and loses a tenth of what it would") {
  Scenario scenario = with(CongestionAlgorithm::cubic, 1);
  scenario.wires[0].queue_bytes = 1 << 20;
  const Report report = must(scenario);
  CAPTURE(report.took / 1us, sender(report).bytes_retransmitted);
  REQUIRE(sender(report).bytes_retransmitted < 300'000);  // 3 MB without HyStart++
  REQUIRE(report.took < 380ms);
}

TEST_CASE("with marks nothing is lost, and the queue stays short") {
  const CongestionAlgorithm algorithm = GENERATE(CongestionAlgorithm::cubic, CongestionAlgorithm::dctcp);
  Scenario scenario = with(algorithm, 1);
  scenario.wires[0].queue_bytes = 1 << 19;
  scenario.wires[0].mark_bytes = 30'000;
  const Report report = must(scenario);
  CAPTURE(static_cast<int>(algorithm), report.took / 1us, sender(report).srtt / 1us);
  REQUIRE(sender(report).ecn);
  REQUIRE(sender(report).bytes_retransmitted == 0);
  REQUIRE(sender(report).srtt < 1500us);
  REQUIRE(report.took < (algorithm == CongestionAlgorithm::dctcp ? 400ms : 450ms));
}

TEST_CASE("on a link with hardly a queue the model fills the wire and loses little") {
  for (std::uint64_t seed = 1; seed <= seeds(5); ++seed) {
    Scenario scenario = with(CongestionAlgorithm::bottleneck, seed);
    scenario.wires[0].queue_bytes = 50'000;
    const Report report = must(scenario);
    CAPTURE(report.took / 1us);
    REQUIRE(sender(report).bytes_retransmitted < 1'000'000);
    REQUIRE(sender(report).timeouts == 0);
    REQUIRE(report.took < 380ms);
  }
}

TEST_CASE("random loss of one in a hundred slows CUBIC down, but not the model") {
  for (std::uint64_t seed = 1; seed <= seeds(5); ++seed) {
    Scenario scenario = with(CongestionAlgorithm::bottleneck, seed);
    scenario.wires[0].loss = 0.01;
    const Report report = must(scenario);
    scenario.flows[0].ends[0].tcp.congestion = scenario.flows[0].ends[1].tcp.congestion =
        CongestionAlgorithm::cubic;
    const Report cubic = must(scenario);
    REQUIRE(report.took < cubic.took / 3);
    REQUIRE(report.took < 400ms);
  }
}

TEST_CASE(
    "a receiver that rests for ten milliseconds at a time does not keep the model from filling the wire") {
  Scenario scenario = with(CongestionAlgorithm::bottleneck, 1);
  scenario.hosts[1].turn = 10ms;
  const Report report = must(scenario);
  CAPTURE(report.took / 1us);
  REQUIRE(report.took < 500ms);
}

TEST_CASE("a sender that is held up now and then keeps its paced rate") {
  Scenario scenario = with(CongestionAlgorithm::bottleneck, 1);
  for (int i = 1; i < 20; ++i) {
    const Instant from = scenario.start + i * 30ms;
    scenario.hosts[0].freezes.push_back({from, from + 10ms});
  }
  const Report report = must(scenario);
  CAPTURE(report.took / 1us);
  REQUIRE(report.took < 450ms);
}
