#include "transport/tcp/stack/cubic.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;
using namespace std::chrono_literals;

namespace {

// One round trip in which the whole window is acknowledged, segment by segment.
void round_trip(Cubic& cubic, Duration rtt, Instant& now) {
  const std::uint64_t segments = cubic.cwnd() / kMss;
  for (std::uint64_t i = 0; i < segments; ++i) {
    cubic.on_ack({.now = now, .acked = kMss, .delivered = kMss, .growth = kMss, .srtt = rtt});
  }
  now += rtt;
}
}  // namespace

TEST_CASE("slow start doubles the window in a round trip") {
  Cubic cubic(kMss, 10 * kMss);
  Instant now{};
  REQUIRE(cubic.in_slow_start());
  round_trip(cubic, 1ms, now);
  REQUIRE(cubic.cwnd() == 20 * kMss);
  round_trip(cubic, 1ms, now);
  REQUIRE(cubic.cwnd() == 40 * kMss);
}

TEST_CASE("a loss takes the window to 0.7 of itself, and ends slow start") {
  Cubic cubic(kMss, 100 * kMss);
  cubic.on_loss(100 * kMss);
  REQUIRE(cubic.cwnd() == 70 * kMss);
  REQUIRE(cubic.ssthresh() == 70 * kMss);
  REQUIRE_FALSE(cubic.in_slow_start());
}

TEST_CASE("a loss with less in flight than the window counts what was in flight") {
  Cubic cubic(kMss, 100 * kMss);
  cubic.on_loss(50 * kMss);
  REQUIRE(cubic.cwnd() == 35 * kMss);
}

TEST_CASE("the window never falls below two segments by a loss") {
  Cubic cubic(kMss, 2 * kMss);
  cubic.on_loss(2 * kMss);
  REQUIRE(cubic.cwnd() == 2 * kMss);
}

TEST_CASE("after a loss the window is back at its maximum K seconds later, and grows on") {
  Cubic cubic(kMss, 1000 * kMss);
  cubic.on_loss(1000 * kMss);
  Instant now{};
  const double k = std::cbrt(300.0 / 0.4);  // RFC 9438 §4.2: W_max - cwnd_epoch is 300 segments
  const Duration rtt = 50ms;
  while (now + 2 * rtt <
         Instant(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(k / 2)))) {
    round_trip(cubic, rtt, now);
  }
  REQUIRE(cubic.cwnd() > 900 * kMss);  // steep at first: 1000 - 300 / 8 at K / 2
  REQUIRE(cubic.cwnd() < 1000 * kMss);
  while (now < Instant(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(k)))) {
    round_trip(cubic, rtt, now);
  }
  REQUIRE(cubic.cwnd() > 995 * kMss);
  REQUIRE(cubic.cwnd() < 1005 * kMss);
  for (int i = 0; i < 200; ++i) {
    round_trip(cubic, rtt, now);
  }
  REQUIRE(cubic.cwnd() > 1100 * kMss);
}

TEST_CASE("on a short path the window grows no slower than Reno's") {
  Cubic cubic(kMss, 20 * kMss);
  cubic.on_loss(20 * kMss);
  Instant now{};
  for (int i = 0; i < 30; ++i) {
    round_trip(cubic, 100us, now);
  }
  // Alpha is 0.53 segments a round trip until W_max, one from there (RFC 9438 §4.3).
  REQUIRE(cubic.cwnd() > 26 * kMss);
}

TEST_CASE("a time-out takes the window to one segment, and only the first one lowers ssthresh") {
  Cubic cubic(kMss, 100 * kMss);
  cubic.on_rto(100 * kMss, /*repeated=*/false);
  REQUIRE(cubic.cwnd() == kMss);
  REQUIRE(cubic.ssthresh() == 70 * kMss);
  REQUIRE(cubic.in_slow_start());
  cubic.on_rto(kMss, /*repeated=*/true);
  REQUIRE(cubic.ssthresh() == 70 * kMss);
}

TEST_CASE("a window that is not in use does not grow, nor does one in recovery") {
  Cubic cubic(kMss, 10 * kMss);
  cubic.on_ack({.acked = kMss, .growth = kMss, .validated = false});
  cubic.on_ack({.acked = kMss, .growth = kMss, .in_recovery = true});
  REQUIRE(cubic.cwnd() == 10 * kMss);
}

TEST_CASE("a reduction that was needless is taken back, and the curve goes on where it was") {
  Cubic cubic(kMss, 100 * kMss);
  Instant now{1h};
  cubic.on_loss(100 * kMss);
  for (int i = 0; i < 50; ++i) {
    round_trip(cubic, 20ms, now);
  }
  Cubic other(kMss, 100 * kMss);
  Instant other_now{1h};
  other.on_loss(100 * kMss);
  for (int i = 0; i < 50; ++i) {
    round_trip(other, 20ms, other_now);
  }
  other.on_rto(other.cwnd(), /*repeated=*/false);
  other.on_rto(kMss, /*repeated=*/true);
  other.on_undo();
  REQUIRE(other.cwnd() == cubic.cwnd());
  REQUIRE(other.ssthresh() == cubic.ssthresh());
  round_trip(cubic, 20ms, now);
  round_trip(other, 20ms, other_now);
  REQUIRE(other.cwnd() == cubic.cwnd());
}
