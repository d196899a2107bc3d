#include "transport/tcp/stack/pacer.h"

#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

// Sends segments whenever it may, and looks at the clock every `step`.
std::uint64_t sent_in(Pacer& pacer, Duration time, Duration step, std::uint32_t segment) {
  std::uint64_t sent = 0;
  for (Instant now{1h}; now < Instant{1h} + time; now += step) {
    while (pacer.may_send(now)) {
      pacer.on_sent(segment, now);
      sent += segment;
    }
  }
  return sent;
}

}  // namespace

TEST_CASE("what leaves is the rate, however seldom the clock is looked at within a burst") {
  const std::uint64_t rate = GENERATE(1'000'000u, 125'000'000u, 3'000'000'000u);
  const Duration step = GENERATE(100ns, 7us);
  CAPTURE(rate, step.count());
  Pacer pacer;
  pacer.set_rate(rate, Instant{1h});
  const std::uint64_t sent = sent_in(pacer, 100ms, step, 1448);
  REQUIRE(sent > rate / 10 / 100 * 97);
  REQUIRE(sent < rate / 10 / 100 * 102 + 2 * Pacer::kMaxBurstBytes);
}

TEST_CASE("a burst is at most 64 KB, or a millisecond's worth") {
  const auto burst = [](std::uint64_t rate) {
    Pacer pacer;
    pacer.set_rate(rate, Instant{1h});
    std::uint64_t sent = 0;
    for (const Instant now{1h}; pacer.may_send(now); sent += 1000) {
      pacer.on_sent(1000, now);
    }
    return sent;
  };
  REQUIRE(burst(1'000'000'000) == 66'000);
  REQUIRE(burst(10'000'000) == 11'000);
  REQUIRE(burst(1000) == 1000);
}

TEST_CASE("an owner that looks at the clock once a millisecond gets the rate all the same") {
  const std::uint64_t rate = GENERATE(125'000'000u, 3'000'000'000u);
  const Duration step = GENERATE(100us, 500us, 900us);
  CAPTURE(rate, step.count());
  Pacer pacer;
  pacer.set_rate(rate, Instant{1h});
  const std::uint64_t sent = sent_in(pacer, 100ms, step, 1448);
  REQUIRE(sent > rate / 10 / 100 * 90);
  REQUIRE(sent < rate / 10 / 100 * 103 + rate / 1000);
}

TEST_CASE("a pause of the owner's is made up for at twice the rate") {
  const std::uint64_t rate = 1'000'000'000;
  Pacer pacer;
  pacer.set_rate(rate, Instant{1h});
  std::uint64_t sent = 0, most_in_a_millisecond = 0, in_this_one = 0;
  Instant now{1h};
  for (int i = 0; i < 20'000; ++i) {  // 100 ms
    if (i % 200 == 0) {
      most_in_a_millisecond = std::max(most_in_a_millisecond, in_this_one);
      in_this_one = 0;
    }
    now += 5us;
    if (i >= 8000 && i < 11'000) {
      continue;  // 15 ms
    }
    while (pacer.may_send(now)) {
      pacer.on_sent(1448, now);
      sent += 1448;
      in_this_one += 1448;
    }
  }
  REQUIRE(sent > rate / 10 / 100 * 97);
  REQUIRE(sent < rate / 10 / 100 * 103);
  REQUIRE(most_in_a_millisecond < 4 * rate / 1000 + 2 * Pacer::kMaxBurstBytes);
}

TEST_CASE("who had nothing to send for long has no more than a burst") {
  Pacer pacer;
  pacer.set_rate(1'000'000'000, Instant{1h});
  pacer.on_sent(1000, Instant{1h});
  std::uint64_t sent = 0;
  for (const Instant later{2h}; pacer.may_send(later); sent += 1000) {
    pacer.on_sent(1000, later);
  }
  REQUIRE(sent < 2 * Pacer::kMaxBurstBytes);
}

TEST_CASE("what left at a slow rate is paid for at the faster one that follows") {
  const Instant now{1h};
  Pacer pacer;
  pacer.set_rate(100, now);
  pacer.on_sent(1000, now);
  REQUIRE(pacer.next() > now + 9s);
  pacer.set_rate(1'000'000, now + 500ms);
  REQUIRE_FALSE(pacer.may_send(now + 500ms));
  REQUIRE(pacer.next() < now + 500ms + 2ms);
  SECTION("but a slower one does not lengthen the wait") {
    const Instant next = pacer.next();
    pacer.set_rate(10, now + 500ms);
    REQUIRE(pacer.next() == next);
  }
}

TEST_CASE("without a rate nothing waits") {
  Pacer pacer;
  pacer.on_sent(1u << 30, Instant{1h});
  REQUIRE(pacer.may_send(Instant{1h}));
}

TEST_CASE("a paced connection says when its next burst may leave, and sends it then") {
  Options options = ScriptedPeer::plain();
  options.pacing = true;
  options.initial_window_segments = 50;
  ScriptedPeer peer(options);
  peer.establish();
  peer.write(1000);
  peer.sent();
  peer.advance(20ms);
  peer.acknowledge(1000);
  peer.write(50'000);
  const std::string first = peer.sent();
  // 51 KB in 20 ms, twice as fast in slow start: 5 KB in the millisecond that a burst may take.
  const auto segments = std::count(first.begin(), first.end(), ':');
  REQUIRE(segments >= 5);
  REQUIRE(segments <= 7);
  REQUIRE(peer.connection().next_deadline() > peer.now());
  REQUIRE(peer.connection().next_deadline() < peer.now() + 2ms);
  const std::string second = peer.run(2ms);
  REQUIRE_FALSE(second.empty());
  peer.run(10ms);
  REQUIRE(peer.connection().info().flight == 50'000);
}
