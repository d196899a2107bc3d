// Explicit congestion notification: RFC 3168, and RFC 8257's echo.
#include "transport/tcp/stack/ecn.h"

#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

Options with_ecn(CongestionAlgorithm algorithm = CongestionAlgorithm::cubic) {
  Options options = ScriptedPeer::plain();
  options.ecn = true;
  options.congestion = algorithm;
  return options;
}

bool has(const SegmentOut& segment, std::uint8_t bits) { return (segment.flags & bits) == bits; }

// An open connection whose peer wants ECN.
void establish(ScriptedPeer& peer) {
  peer.syn_flags = flag::ece | flag::cwr;
  peer.establish();
}

}  // namespace

TEST_CASE("ECN is asked for by a SYN, and agreed to only if it was asked for") {
  ScriptedPeer active(with_ecn());
  active.connect();
  REQUIRE(active.sent() == "S 0");
  REQUIRE(has(active.last(), flag::ece | flag::cwr));
  REQUIRE_FALSE(active.last().ecn_capable);

  ScriptedPeer passive(with_ecn());
  passive.syn_flags = flag::ece | flag::cwr;
  passive.accept();
  passive.sent();
  REQUIRE(has(passive.last(), flag::ece));
  REQUIRE_FALSE(has(passive.last(), flag::cwr));

  ScriptedPeer unasked(with_ecn());
  unasked.accept();
  unasked.sent();
  REQUIRE_FALSE(has(unasked.last(), flag::ece));
}

TEST_CASE("a SYN that is not answered is repeated without the question") {
  ScriptedPeer peer(with_ecn());
  peer.connect();
  peer.sent();
  REQUIRE(peer.run(200ms) == "S 0");
  REQUIRE_FALSE(has(peer.last(), flag::ece));
}

TEST_CASE("new data is marked as capable, repetitions and acknowledgements are not") {
  ScriptedPeer peer(with_ecn());
  establish(peer);
  peer.write(1000);
  peer.sent();
  REQUIRE(peer.last().ecn_capable);
  peer.run(300ms);
  REQUIRE(peer.last().retransmission);
  REQUIRE_FALSE(peer.last().ecn_capable);
  peer.hand(peer.segment(flag::ack, 100));
  REQUIRE(peer.sent() == "A 1001 ack 101");
  REQUIRE_FALSE(peer.last().ecn_capable);
}

TEST_CASE("a peer that has not agreed gets no marked packets") {
  ScriptedPeer peer(with_ecn());
  peer.establish();
  peer.write(1000);
  peer.sent();
  REQUIRE_FALSE(peer.last().ecn_capable);
}

TEST_CASE("a mark is echoed until the sender has heard") {
  ScriptedPeer peer(with_ecn());
  establish(peer);
  SegmentIn marked = peer.segment(flag::ack, 100);
  marked.congestion_experienced = true;
  peer.hand(marked);
  peer.sent();
  REQUIRE(has(peer.last(), flag::ece));
  peer.hand(peer.segment(flag::ack, 100));
  peer.sent();
  REQUIRE(has(peer.last(), flag::ece));
  peer.hand(peer.segment(flag::ack | flag::cwr, 100));
  peer.sent();
  REQUIRE_FALSE(has(peer.last(), flag::ece));
}

TEST_CASE("for DCTCP each mark is echoed once") {
  ScriptedPeer peer(with_ecn(CongestionAlgorithm::dctcp));
  establish(peer);
  SegmentIn marked = peer.segment(flag::ack, 100);
  marked.congestion_experienced = true;
  peer.hand(marked);
  peer.sent();
  REQUIRE(has(peer.last(), flag::ece));
  peer.hand(peer.segment(flag::ack, 100));
  peer.sent();
  REQUIRE_FALSE(has(peer.last(), flag::ece));
}

TEST_CASE("a delayed acknowledgement does not wait with a change of marks, nor mixes them (DCTCP)") {
  Options options = with_ecn(CongestionAlgorithm::dctcp);
  options.delayed_ack = 10ms;
  ScriptedPeer peer(options);
  establish(peer);
  peer.hand(peer.segment(flag::ack, 100));
  REQUIRE(peer.sent().empty());
  SegmentIn marked = peer.segment(flag::ack, 100);
  marked.congestion_experienced = true;
  peer.hand(marked);
  SegmentOut first;
  REQUIRE(peer.connection().next_segment(first, peer.now()));
  REQUIRE(first.ack == kPeerIss + 101);
  REQUIRE_FALSE(has(first, flag::ece));
  REQUIRE(peer.sent() == "A 1 ack 201");
  REQUIRE(has(peer.last(), flag::ece));
}

TEST_CASE("the acknowledgement of before a change of marks does not move the window's edge back") {
  Options options = with_ecn(CongestionAlgorithm::dctcp);
  options.delayed_ack = 10ms;
  options.receive_buffer = 1 << 20;  // a window scale of 5: the field counts in units of 32 bytes
  ScriptedPeer peer(options);
  establish(peer);
  const auto edge = [](const SegmentOut& s) { return s.ack + (std::uint32_t{s.window} << 5); };
  peer.hand(peer.segment(flag::ack, 1001));
  peer.hand(peer.segment(flag::ack, 1001));
  peer.sent();
  const Seq before = edge(peer.last());
  peer.hand(peer.segment(flag::ack, 101));
  SegmentIn marked = peer.segment(flag::ack, 101);
  marked.congestion_experienced = true;
  peer.hand(marked);
  SegmentOut earlier, later;
  REQUIRE(peer.connection().next_segment(earlier, peer.now()));
  REQUIRE(peer.connection().next_segment(later, peer.now()));
  REQUIRE(later.ack == earlier.ack + 101);
  CHECK(edge(earlier) >= before);
  CHECK(edge(later) >= edge(earlier));
}

TEST_CASE("an echo shrinks the window once a round trip, and the peer gets CWR") {
  ScriptedPeer peer(with_ecn());
  establish(peer);
  peer.write(30'000);
  peer.sent();
  SegmentIn ack = peer.segment(flag::ack | flag::ece);
  ack.ack = kIss + 1001;
  peer.hand(ack);
  REQUIRE(peer.connection().info().cwnd == 7000);
  ack.ack = kIss + 2001;
  peer.hand(ack);
  REQUIRE(peer.connection().info().cwnd == 7000);
  ack.ack = kIss + 5001;
  peer.hand(ack);
  REQUIRE(peer.connection().info().bytes_retransmitted == 0);
  SegmentOut next;
  REQUIRE(peer.connection().next_segment(next, peer.now()));
  REQUIRE(has(next, flag::cwr));
  REQUIRE(next.payload_size == 1000);
  REQUIRE(peer.connection().next_segment(next, peer.now()));
  REQUIRE_FALSE(has(next, flag::cwr));
}

TEST_CASE("a time-out amid a reduction is fixed by slow start") {
  ScriptedPeer peer(with_ecn());
  establish(peer);
  peer.write(10'000);
  peer.sent();
  SegmentIn ack = peer.segment(flag::ack | flag::ece);
  ack.ack = kIss + 1001;
  peer.hand(ack);
  while (peer.connection().info().timeouts == 0) {
    peer.run(peer.connection().next_deadline() - peer.now());
  }
  REQUIRE(peer.connection().info().cwnd == 1000);
  peer.acknowledge(2000);
  REQUIRE(peer.connection().info().cwnd == 2000);
  peer.acknowledge(3000);
  REQUIRE(peer.connection().info().cwnd == 3000);
}
