#include "transport/tcp/net/neighbour_table.h"

#include <catch2/catch.hpp>

#include "frames.h"

using namespace tfabric;
using namespace tfabric::net;
using namespace std::chrono_literals;
using Kind = NeighbourTable::Lookup::Kind;

namespace {

IpAddress numbered(unsigned i) {
  return IpAddress::v4({10, 1, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)});
}

// How often the table asks for anybody until `end`, looking every 100 ms.
int requests_until(NeighbourTable& table, Instant& now, Instant end) {
  int requests = 0;
  for (; now < end; now += 100ms) {
    while (table.due(now)) {
      ++requests;
    }
  }
  return requests;
}

}  // namespace

TEST_CASE("the first look asks, later ones wait for the answer") {
  NeighbourTable table;
  const auto first = table.find(peer4(), kStart);
  REQUIRE(first.kind == Kind::pending);
  REQUIRE(first.request);
  REQUIRE_FALSE(table.find(peer4(), kStart).request);
  const auto generation = table.generation();
  REQUIRE_FALSE(table.learn(peer4(), kPeerMac, /*create=*/false, kStart));
  REQUIRE(table.generation() != generation);
  REQUIRE(table.find(peer4(), kStart).kind == Kind::known);
  REQUIRE(table.find(peer4(), kStart).mac == kPeerMac);
}

TEST_CASE("an unanswered neighbour is asked three times a second apart, then unreachable, then tried anew") {
  NeighbourTable table;
  REQUIRE(table.find(peer4(), kStart).request);
  REQUIRE(table.next_deadline() == kStart + 1s);
  Instant now = kStart;
  REQUIRE(requests_until(table, now, kStart + 3500ms) == 2);
  REQUIRE(table.find(peer4(), now).kind == Kind::unreachable);
  REQUIRE(table.next_deadline() == kNever);
  REQUIRE_FALSE(table.find(peer4(), now + 3s).request);
  const auto again = table.find(peer4(), kStart + 8s + 100ms);
  REQUIRE(again.kind == Kind::pending);
  REQUIRE(again.request);
}

TEST_CASE("an answer after giving up is taken") {
  NeighbourTable table;
  static_cast<void>(table.find(peer4(), kStart));
  Instant now = kStart;
  static_cast<void>(requests_until(table, now, kStart + 4s));
  REQUIRE(table.find(peer4(), now).kind == Kind::unreachable);
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/false, now));
  REQUIRE(table.find(peer4(), now).kind == Kind::known);
}

TEST_CASE("what nobody asked for is learned only if told to") {
  NeighbourTable table;
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/false, kStart));
  REQUIRE(table.find(peer4(), kStart).kind == Kind::pending);
  static_cast<void>(table.learn(peer6(), kPeerMac, /*create=*/true, kStart));
  REQUIRE(table.find(peer6(), kStart).kind == Kind::known);
}

TEST_CASE("a moved neighbour is noticed, and headers are made anew") {
  NeighbourTable table;
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/true, kStart));
  const auto generation = table.generation();
  REQUIRE_FALSE(table.learn(peer4(), kPeerMac, /*create=*/false, kStart));
  REQUIRE(table.generation() == generation);
  REQUIRE(table.learn(peer4(), kOurMac, /*create=*/false, kStart));
  REQUIRE(table.generation() != generation);
  REQUIRE(table.find(peer4(), kStart).mac == kOurMac);
}

TEST_CASE("a neighbour in use is asked again after 30 s, and answers in use meanwhile") {
  NeighbourTable table;
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/true, kStart));
  REQUIRE(table.next_deadline() == kStart + 30s);
  static_cast<void>(table.find(peer4(), kStart + 20s));
  REQUIRE_FALSE(table.due(kStart + 29s));
  REQUIRE(table.due(kStart + 30s) == peer4());
  REQUIRE_FALSE(table.due(kStart + 30s));
  REQUIRE(table.find(peer4(), kStart + 30s).kind == Kind::known);
  const auto generation = table.generation();
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/false, kStart + 30s));
  REQUIRE(table.generation() == generation);
  REQUIRE(table.next_deadline() == kStart + 60s);
}

TEST_CASE("a neighbour in use that stays silent becomes unreachable") {
  NeighbourTable table;
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/true, kStart));
  static_cast<void>(table.find(peer4(), kStart + 25s));
  const auto generation = table.generation();
  Instant now = kStart;
  REQUIRE(requests_until(table, now, kStart + 33500ms) == 3);
  REQUIRE(table.find(peer4(), now).kind == Kind::unreachable);
  REQUIRE(table.generation() != generation);
}

TEST_CASE("an unused neighbour is not asked") {
  NeighbourTable table;
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/true, kStart));
  Instant now = kStart + 31s;
  REQUIRE(requests_until(table, now, kStart + 200s) == 0);
}

TEST_CASE("progress above keeps a neighbour known without asking, and counts as use") {
  NeighbourTable table;
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/true, kStart));
  Instant now = kStart;
  for (int second = 1; second <= 100; ++second) {
    table.confirm(peer4(), kStart + std::chrono::seconds(second));
    REQUIRE(requests_until(table, now, kStart + std::chrono::seconds(second)) == 0);
  }
  // The peer falls silent. Its header is kept, so nobody calls find(): it is asked all the same.
  REQUIRE(requests_until(table, now, kStart + 140s) == 3);
}

TEST_CASE("progress does not confirm a neighbour that is unknown") {
  NeighbourTable table;
  static_cast<void>(table.find(peer4(), kStart));
  table.confirm(peer4(), kStart);
  table.confirm(peer6(), kStart);
  REQUIRE(table.find(peer4(), kStart).kind == Kind::pending);
  REQUIRE(table.find(peer6(), kStart).request);
}

TEST_CASE("strangers that announce themselves crowd out nobody we talk to, nor do headers become stale") {
  NeighbourTable table;
  static_cast<void>(table.find(peer4(), kStart));
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/false, kStart));
  const auto generation = table.generation();
  for (unsigned i = 0; i < 3 * NeighbourTable::kMaxNeighbours; ++i) {
    static_cast<void>(table.learn(numbered(i), kPeerMac, /*create=*/true, kStart + 1s));
  }
  REQUIRE(table.generation() == generation);
  REQUIRE(table.find(peer4(), kStart + 2s).kind == Kind::known);
}

TEST_CASE("a full table forgets what was used longest ago, and says so") {
  NeighbourTable table;
  for (unsigned i = 0; i < NeighbourTable::kMaxNeighbours; ++i) {
    const Instant then = kStart + std::chrono::seconds(i);
    static_cast<void>(table.learn(numbered(i), kPeerMac, /*create=*/true, then));
    REQUIRE(table.find(numbered(i), then).kind == Kind::known);
  }
  const Instant now = kStart + 2000s;
  REQUIRE(table.find(numbered(0), now).kind == Kind::known);
  const auto generation = table.generation();
  static_cast<void>(table.find(peer4(), now));
  REQUIRE(table.generation() != generation);
  REQUIRE(table.find(numbered(0), now).kind == Kind::known);
  REQUIRE(table.find(numbered(2), now).kind == Kind::known);
  REQUIRE(table.find(numbered(1), now).kind == Kind::pending);
}
