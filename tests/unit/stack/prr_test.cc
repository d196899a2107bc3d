#include "transport/tcp/stack/prr.h"

#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

TEST_CASE("above ssthresh the sender sends its share of what arrives") {
  Prr prr;
  prr.start(100 * kMss, 70 * kMss);
  std::uint64_t in_flight = 96 * kMss, sent = 0;
  for (int i = 0; i < 80; ++i) {
    in_flight -= kMss;
    prr.on_ack({.delivered = kMss, .in_flight = in_flight, .mss = kMss});
    while (in_flight + kMss <= prr.cwnd()) {
      in_flight += kMss;
      sent += kMss;
      prr.on_sent(kMss);
    }
  }
  REQUIRE(sent >= 55 * kMss);
  REQUIRE(sent <= 57 * kMss);  // 0.7 of 80
}

TEST_CASE("below ssthresh it sends what arrives, and one more if there is no new loss") {
  Prr prr;
  prr.start(100 * kMss, 70 * kMss);
  prr.on_ack({.delivered = kMss, .in_flight = 20 * kMss, .mss = kMss});
  REQUIRE(prr.cwnd() == 21 * kMss);
  prr.on_sent(kMss);
  prr.on_ack({.delivered = kMss, .in_flight = 20 * kMss, .safe = true, .mss = kMss});
  REQUIRE(prr.cwnd() == 22 * kMss);
}

TEST_CASE("the first retransmission goes out whatever the window") {
  Prr prr;
  prr.start(10 * kMss, 2 * kMss);
  prr.on_ack({.in_flight = 8 * kMss, .mss = kMss});
  REQUIRE(prr.cwnd() == 9 * kMss);
}

TEST_CASE("recovery of a loss sends seven segments for ten that arrive, not a silence and then a burst") {
  Options options = ScriptedPeer::plain();
  options.sack = true;
  options.initial_window_segments = 40;
  ScriptedPeer peer(options);
  peer.establish();
  peer.write(200'000);
  peer.sent();
  peer.advance(1ms);
  std::uint32_t sent = 0;
  for (std::uint32_t i = 2; i <= 21; ++i) {
    peer.report(0, {{1000, 1000 * i}});
    const std::string text = peer.sent();
    const auto segments = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), ':'));
    REQUIRE(segments <= (i == 4 ? 2u : 1u));
    sent += segments;
  }
  REQUIRE(sent >= 13);
  REQUIRE(sent <= 15);
}
