// RFC 8985 §6: loss detection by time.
#include "transport/tcp/stack/rack.h"

#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

Options with_sack() {
  Options options = ScriptedPeer::plain();
  options.sack = true;
  options.initial_window_segments = 20;
  return options;
}

// Ten segments of a thousand bytes, sent one by one, a millisecond between them; the round trip takes
// twenty. `peer` then is at the time when the first acknowledgement may come.
struct Spread {
  Spread() : peer(with_sack()) {
    peer.establish();
    peer.write(1000);
    peer.sent();
    peer.advance(20ms);
    peer.acknowledge(1000);
    for (int i = 0; i < 10; ++i) {
      peer.write(1000);
      peer.sent();
      peer.advance(1ms);
    }
    peer.advance(10ms);
  }
  ScriptedPeer peer;
};

constexpr std::uint32_t kPiece = 988;  // of a thousand bytes, the option of timestamps takes twelve

// With timestamps: one piece is acknowledged, and six more are under way, for a round trip of twenty
// milliseconds.
struct Pieces {
  Pieces() : peer(options()) {
    peer.establish();
    peer.write(kPiece);
    peer.sent();
    peer.advance(20ms);
    peer.ts_ecr = 3'600'000;
    peer.acknowledge(kPiece);
    peer.write(6 * kPiece);
    peer.sent();
    peer.advance(20ms);
    peer.ts_ecr = 3'600'020;
  }
  static Options options() {
    Options options = with_sack();
    options.timestamps = true;
    return options;
  }
  ScriptedPeer peer;
};

}  // namespace

TEST_CASE("a hole is lost a quarter of the round trip after a later segment has arrived") {
  Spread spread;
  ScriptedPeer& peer = spread.peer;
  peer.advance(1ms);
  peer.report(1000, {{2000, 3000}});
  REQUIRE(peer.sent().empty());
  REQUIRE(peer.connection().next_deadline() == peer.now() - 1ms + 5ms);  // sent a millisecond before
  REQUIRE(peer.run(3ms).empty());
  REQUIRE(peer.run(1ms) == "A 1001:2001 ack 1");
  REQUIRE(peer.connection().info().fast_retransmits == 1);
}

TEST_CASE("with three segments reported, and no reordering ever seen, a hole is lost at once") {
  Spread spread;
  ScriptedPeer& peer = spread.peer;
  peer.advance(3ms);
  peer.report(1000, {{2000, 5000}});
  REQUIRE(peer.sent() == "A 1001:2001 ack 1");
}

TEST_CASE("a hole that is filled within the reordering window costs nothing") {
  Spread spread;
  ScriptedPeer& peer = spread.peer;
  peer.advance(1ms);
  peer.report(1000, {{2000, 3000}});
  peer.advance(2ms);
  peer.acknowledge(3000);
  REQUIRE(peer.run(4ms).empty());
  REQUIRE(peer.connection().info().bytes_retransmitted == 0);
  const std::uint32_t cwnd = peer.connection().info().cwnd;

  SECTION("and from then on three reports are no proof of a loss") {
    peer.report(3000, {{4000, 7000}});
    REQUIRE(peer.sent().empty());
    REQUIRE(peer.connection().info().cwnd == cwnd);
  }
}

TEST_CASE("a retransmission that is lost is found lost by what was sent after it") {
  Spread spread;
  ScriptedPeer& peer = spread.peer;
  peer.advance(3ms);
  peer.report(1000, {{2000, 5000}});
  REQUIRE(peer.sent() == "A 1001:2001 ack 1");
  peer.advance(1ms);
  peer.write(1000);
  peer.report(1000, {{2000, 11'000}});
  REQUIRE(peer.sent() == "PA 11001:12001 ack 1");
  peer.advance(20ms);
  peer.report(1000, {{2000, 12'000}});
  REQUIRE(peer.sent() == "A 1001:2001 ack 1");
  REQUIRE(peer.connection().info().timeouts == 0);
}

TEST_CASE("each round trip with a D-SACK widens the reordering window, for sixteen recoveries") {
  Rack rack;
  SentSegments segments;
  const Rack::RoundTrips trips{.min_rtt = 4ms, .srtt = 40ms, .in_recovery = false};
  Instant now{1h};
  const auto window = [&] {
    segments.add(0, 1000, now);
    SentSegment later;
    later.start = 1000;
    later.size = 1000;
    later.sent_at = now;
    rack.on_delivered(later, now + 10ms);
    const Instant deadline = rack.detect(segments, trips, now + 10ms);
    segments.remove_first();
    now += 1s;
    return deadline == kNever ? Duration::zero() : deadline + 1s - now - 10ms;
  };
  REQUIRE(window() == 1ms);
  rack.on_dsack(5000, 9000);
  rack.on_dsack(6000, 9500);
  REQUIRE(window() == 2ms);
  rack.on_dsack(9000, 12'000);
  REQUIRE(window() == 3ms);
  for (int i = 0; i < 200; ++i) {
    rack.on_dsack(20'000 + 1000u * static_cast<unsigned>(i), 21'000 + 1000u * static_cast<unsigned>(i));
  }
  REQUIRE(window() == 40ms);  // never more than the smoothed round trip
  for (int i = 0; i < 15; ++i) {
    rack.on_recovery_end();
  }
  REQUIRE(window() == 40ms);
  rack.on_recovery_end();
  REQUIRE(window() == 1ms);
}

TEST_CASE("an acknowledgement of the original says nothing about when its repetition was sent") {
  Pieces pieces;
  ScriptedPeer& peer = pieces.peer;
  peer.report(kPiece, {{3 * kPiece, 7 * kPiece}});
  const std::string first = "A 989:1977 ack 1";
  REQUIRE(peer.sent() == first + ", A 1977:2965 ack 1");

  SECTION("if the answer comes faster than the path allows") {
    peer.advance(1ms);
    peer.ts_ecr = 3'600'040;
    peer.report(kPiece, {{2 * kPiece, 7 * kPiece}});
    REQUIRE(peer.sent().empty());
    REQUIRE(peer.run(10ms).empty());
  }
  SECTION("but else it does, though what arrives behind a hole has the timestamp of what came before it") {
    peer.advance(21ms);
    peer.report(kPiece, {{2 * kPiece, 7 * kPiece}});
    REQUIRE(peer.sent() == first);
  }
}

TEST_CASE(
    "what was sent before a repetition is lost once the repetition is acknowledged, and not its original") {
  Pieces pieces;
  ScriptedPeer& peer = pieces.peer;
  peer.report(kPiece, {{2 * kPiece, 5 * kPiece}});
  REQUIRE(peer.sent() == "A 989:1977 ack 1");
  peer.advance(21ms);
  SECTION("by the timestamp of the original") {
    peer.acknowledge(5 * kPiece);
    REQUIRE(peer.sent().empty());
    REQUIRE(peer.run(10ms).empty());
  }
  SECTION("by that of the repetition") {
    peer.ts_ecr = 3'600'040;
    peer.acknowledge(5 * kPiece);
    REQUIRE(peer.sent() == "A 4941:5929 ack 1, PA 5929:6917 ack 1");
  }
}

// Seed 3385770 of the simulation: each report found all lost again that the one before had brought under way.
TEST_CASE(
    "as long as all has been sent twice, an answer tells of no round trip, and nothing is lost by time") {
  ScriptedPeer peer(with_sack());
  peer.accept();
  peer.sent();
  const auto when_due = [&] { return peer.run(peer.connection().next_deadline() - peer.now()); };
  REQUIRE(when_due() == "SA 0 ack 1");
  peer.acknowledge(0);
  peer.write(10'000);
  peer.sent();
  REQUIRE(when_due() == "PA 9001:10001 ack 1");  // the tail loss probe
  REQUIRE(when_due() == "A 1:1001 ack 1");
  peer.acknowledge(1000);
  REQUIRE(peer.sent() == "A 1001:2001 ack 1, A 2001:3001 ack 1");
  peer.advance(1us);
  peer.report(1000, {{2000, 3000}});
  REQUIRE(peer.connection().info().min_rtt == 0ns);
  REQUIRE(peer.sent().find("1001:2001") == std::string::npos);
}

TEST_CASE("the round trip that counts is that of the segment heard of last, be it an older one") {
  Rack rack;
  SentSegments segments;
  const Rack::RoundTrips trips{.min_rtt = 8ms, .srtt = 10ms, .in_recovery = false};
  const Instant start{1h};
  for (std::uint64_t i = 0; i < 3; ++i) {
    segments.add(1000 * i, 1000, start);
  }
  // The first is lost, and its repetition arrives after a round trip; then, late, the second.
  segments.mark_lost(segments.first());
  segments.resend(segments.first(), start + 10ms);
  rack.on_delivered(segments.at(segments.first()), start + 20ms);
  segments.remove_first();
  rack.on_delivered(segments.at(segments.first()), start + 20ms);
  segments.remove_first();
  // The third has had no more time than the second has needed.
  REQUIRE(rack.detect(segments, trips, start + 20ms) == start + 22ms);
  REQUIRE(segments.lost_bytes() == 0);
}

TEST_CASE("how far segments are overtaken is remembered") {
  Spread spread;
  ScriptedPeer& peer = spread.peer;
  REQUIRE(peer.connection().info().reordering == 0);
  peer.report(1000, {{4000, 5000}});
  peer.report(1000, {{2000, 3000}, {4000, 5000}});
  REQUIRE(peer.connection().info().reordering == 3000);
  peer.acknowledge(5000);
  REQUIRE(peer.connection().info().reordering == 4000);
}
