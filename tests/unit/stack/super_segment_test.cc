// Super-segments (TSO): what leaves as one is on record as the segments that the driver cuts it into.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/random.h"
#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

Options with_offload(bool sack = true) {
  Options options = ScriptedPeer::plain();
  options.sack = sack;
  options.super_segment = 60'000;
  return options;
}

// A connection with ten segments of a thousand bytes in flight, that left as one.
struct Offloaded {
  explicit Offloaded(const Options& options = with_offload()) : peer(options) {
    peer.establish();
    peer.write(10'000);
    REQUIRE(peer.sent() == "PA 1:10001 ack 1");
    REQUIRE(peer.last().segment_size == 1000);
  }
  ScriptedPeer peer;
};

// What a driver makes of all that the connection sends now.
std::string cut(ScriptedPeer& peer) {
  std::string text;
  SegmentOut out;
  while (peer.connection().next_segment(out, peer.now())) {
    const std::uint32_t size = out.segment_size == 0 ? out.payload_size : out.segment_size;
    std::uint32_t at = 0;
    do {
      const std::uint32_t n = std::min(size, out.payload_size - at);
      const bool last = at + n == out.payload_size;
      const unsigned flags = out.flags & ~(last ? 0u : flag::fin | flag::psh);
      text += fmt::format("{}:{} {:x} {} {}\n", out.seq + at - kIss, out.seq + at + n - kIss, flags,
                          out.ack - kPeerIss, out.window);
      at += n;
    } while (at < out.payload_size);
  }
  return text;
}

}  // namespace

TEST_CASE("a window of new data leaves as one, and is acknowledged in parts") {
  Offloaded flight;
  flight.peer.acknowledge(3000);
  CHECK(flight.peer.connection().info().flight == 7000);
  flight.peer.acknowledge(3500);
  CHECK(flight.peer.connection().info().flight == 6500);
  flight.peer.acknowledge(10'000);
  CHECK(flight.peer.connection().info().flight == 0);
}

TEST_CASE("without the offload, or with one of a single segment, nothing is larger than a segment") {
  for (const std::uint32_t limit : {0u, 999u, 1000u}) {
    Options options = with_offload();
    options.super_segment = limit;
    ScriptedPeer peer(options);
    peer.establish();
    peer.write(2500);
    CHECK(peer.sent() == "A 1:1001 ack 1, A 1001:2001 ack 1, PA 2001:2501 ack 1");
    CHECK(peer.last().segment_size == 0);
  }
}

TEST_CASE("the driver's limit, the congestion window and the peer's cut it at whole segments") {
  Options options = with_offload();
  options.super_segment = 4500;
  ScriptedPeer small(options);
  small.establish();
  small.write(9500);
  CHECK(small.sent() == "A 1:4001 ack 1, A 4001:8001 ack 1, PA 8001:9501 ack 1");

  options = with_offload();
  options.initial_window_segments = 3;
  ScriptedPeer congested(options);
  congested.establish();
  congested.write(10'000);
  CHECK(congested.sent() == "A 1:3001 ack 1");

  ScriptedPeer narrow(with_offload());
  narrow.establish();
  narrow.acknowledge(0, 2500);
  narrow.write(10'000);
  CHECK(narrow.sent() == "A 1:2001 ack 1");
}

TEST_CASE("a short end goes with the full segments before it, and so does the FIN") {
  ScriptedPeer peer(with_offload());
  peer.establish();
  peer.write(2500);
  peer.connection().close();
  CHECK(peer.sent() == "FPA 1:2501 ack 1");
  CHECK(peer.last().segment_size == 1000);
  CHECK(peer.connection().info().flight == 2501);
  // The end is lost: the FIN goes again with its data, and not with more.
  peer.report(1000, {{1000, 2000}});
  peer.acknowledge(2000);
  CHECK(peer.run(1s).substr(0, 19) == "FPA 2001:2501 ack 1");
  peer.acknowledge(2501);
  CHECK(peer.state() == State::fin_wait_2);
}

TEST_CASE("a FIN behind full segments goes with them") {
  ScriptedPeer peer(with_offload());
  peer.establish();
  peer.write(2000);
  peer.connection().close();
  CHECK(peer.sent() == "FPA 1:2001 ack 1");
  CHECK(peer.connection().info().flight == 2001);
}

TEST_CASE("reports split it: what is missing goes again, and no more") {
  Offloaded flight;
  flight.peer.advance(1ms);
  flight.peer.report(0, {{1000, 2000}, {3000, 10'000}});
  CHECK(flight.peer.sent() == "A 1:1001 ack 1, A 2001:3001 ack 1");
  CHECK(flight.peer.connection().info().sacked == 8000);
  flight.peer.acknowledge(10'000);
  CHECK(flight.peer.connection().info().bytes_retransmitted == 2000);
}

TEST_CASE("lost segments in a row go again as one, after the first, which goes alone") {
  Offloaded flight;
  flight.peer.advance(1ms);
  flight.peer.report(0, {{4000, 10'000}});
  CHECK(flight.peer.sent() == "A 1:1001 ack 1, A 1001:4001 ack 1");
  CHECK(flight.peer.last().segment_size == 1000);
  CHECK(flight.peer.last().retransmission);
  CHECK(flight.peer.connection().info().retransmitted == 4000);
}

TEST_CASE("a window's mark is answered once, by a segment that is not copied") {
  Options options = with_offload();
  options.ecn = true;
  ScriptedPeer peer(options);
  peer.syn_flags = flag::ece | flag::cwr;
  peer.establish();
  peer.write(10'000);
  REQUIRE(peer.sent() == "PA 1:10001 ack 1");
  CHECK((peer.last().flags & flag::cwr) == 0);
  peer.write(20'000);
  peer.advance(1ms);
  SegmentIn marked = peer.segment(flag::ack | flag::ece);
  marked.ack = kIss + 1 + 10'000;
  peer.hand(marked);
  SegmentOut out;
  REQUIRE(peer.connection().next_segment(out, peer.now()));
  CHECK((out.flags & flag::cwr) != 0);
  CHECK(out.payload_size == 1000);
  REQUIRE(peer.connection().next_segment(out, peer.now()));
  CHECK((out.flags & flag::cwr) == 0);
  CHECK(out.segment_size == 1000);
}

TEST_CASE("what has arrived twice is reported by one segment, not by all that are cut") {
  ScriptedPeer peer(with_offload());
  peer.establish();
  const SegmentIn data = peer.segment(flag::ack | flag::psh, 500);
  peer.hand(data);
  peer.sent();
  peer.hand(data);
  peer.write(5000);
  SegmentOut out;
  REQUIRE(peer.connection().next_segment(out, peer.now()));
  CHECK(out.option_size > 0);
  CHECK(out.segment_size == 0);
  REQUIRE(peer.connection().next_segment(out, peer.now()));
  CHECK(out.option_size == 0);
  CHECK(out.segment_size != 0);
}

TEST_CASE("a pacer's burst bounds it") {
  Options options = with_offload();
  options.pacing = true;
  options.initial_window_segments = 50;
  ScriptedPeer peer(options);
  peer.establish();
  peer.write(50'000);
  peer.sent();
  peer.advance(10ms);
  peer.write(500'000);
  peer.acknowledge(50'000);
  SegmentOut out;
  while (peer.connection().next_segment(out, peer.now())) {
    // A burst is a millisecond's worth of twice the window a round trip.
    CHECK(out.payload_size <= 21'000);
  }
  CHECK(peer.connection().next_deadline() < peer.now() + 10ms);
}

// The peer's acknowledgements are drawn; whatever they are, both connections say the same.
TEST_CASE("what the driver cuts is what would have left segment by segment") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    SeededRandom random(seed);
    Options options = with_offload(/*sack=*/random.chance(0.7));
    options.ecn = random.chance(0.5);
    ScriptedPeer whole(options);
    options.super_segment = 0;
    ScriptedPeer apart(options);
    whole.syn_flags = apart.syn_flags = flag::ece | flag::cwr;
    whole.establish();
    apart.establish();
    std::uint32_t acked = 0;
    for (int step = 0; step < 60; ++step) {
      const auto more = static_cast<std::uint32_t>(random.between(0, 6000));
      const Duration time = random.chance(0.05) ? Duration(300ms) : Duration(random.between(0, 2'000'000));
      const std::uint32_t flight = whole.connection().info().flight;
      const auto step_acked = random.chance(0.6) ? static_cast<std::uint32_t>(random.between(0, flight)) : 0;
      const auto left = static_cast<std::uint32_t>(random.between(0, flight));
      const auto right = static_cast<std::uint32_t>(random.between(0, flight));
      const bool reports = options.sack && left < right && left > step_acked;
      const bool mark = random.chance(0.1);
      for (ScriptedPeer* peer : {&whole, &apart}) {
        peer->write(more);
        peer->advance(time);
        SegmentIn ack = peer->segment(mark ? flag::ack | flag::ece : flag::ack);
        ack.ack = kIss + 1 + acked + step_acked;
        if (reports) {
          ack.sack[ack.sack_count++] = {kIss + 1 + acked + left, kIss + 1 + acked + right};
        }
        peer->hand(ack);
      }
      acked += step_acked;
      REQUIRE(cut(whole) == cut(apart));
      const ConnectionInfo a = whole.connection().info(), b = apart.connection().info();
      REQUIRE(a.cwnd == b.cwnd);
      REQUIRE(a.flight == b.flight);
      REQUIRE(a.sacked == b.sacked);
      REQUIRE(a.retransmitted == b.retransmitted);
      REQUIRE(whole.connection().next_deadline() == apart.connection().next_deadline());
    }
  }
}
