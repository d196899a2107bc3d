#include "transport/tcp/stack/dctcp.h"

#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

struct Flow {
  // Windows of data, `marked` of a hundred parts of each with marks.
  void windows(int count, std::uint64_t marked) {
    for (int i = 0; i < count; ++i) {
      for (std::uint64_t part = 0; part < 100; ++part) {
        una += 1000;
        dctcp.on_ack({.acked = 1000,
                      .delivered = 1000,
                      .snd_una = una,
                      .snd_nxt = una + 100'000,
                      .marked = part < marked ? 1000u : 0u,
                      .validated = false});
      }
    }
  }
  Dctcp dctcp{kMss, 100 * kMss};
  std::uint64_t una = 0;
};

double share(const Dctcp& dctcp) { return static_cast<double>(dctcp.alpha()) / Dctcp::kOne; }

}  // namespace

TEST_CASE("alpha follows the share of marked bytes") {
  Flow flow;
  REQUIRE(share(flow.dctcp) == 1);
  flow.windows(200, 25);
  REQUIRE(share(flow.dctcp) == Approx(0.25).margin(0.03));
  flow.windows(200, 0);
  REQUIRE(share(flow.dctcp) < 0.001);
}

TEST_CASE("a mark takes half of alpha from the window, a loss half of all") {
  Flow flow;
  flow.windows(200, 20);
  const std::uint64_t before = flow.dctcp.cwnd();
  flow.dctcp.on_ecn(before);
  REQUIRE(static_cast<double>(flow.dctcp.cwnd()) == Approx(0.9 * static_cast<double>(before)).epsilon(0.03));
  const std::uint64_t after = flow.dctcp.cwnd();
  flow.dctcp.on_loss(after);
  REQUIRE(flow.dctcp.cwnd() == after / 2);
  flow.dctcp.on_undo();
  REQUIRE(flow.dctcp.cwnd() == after);
}

TEST_CASE("without marks the window grows by a segment in a round trip, after slow start") {
  Dctcp dctcp(kMss, 10 * kMss);
  dctcp.on_loss(20 * kMss);
  REQUIRE(dctcp.cwnd() == 5 * kMss);
  for (int i = 0; i < 5; ++i) {
    dctcp.on_ack({.acked = kMss, .growth = kMss});
  }
  REQUIRE(dctcp.cwnd() == 6 * kMss);
}
