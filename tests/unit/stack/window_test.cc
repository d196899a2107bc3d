// Windows in both directions, and the timestamps that guard them (RFC 9293 §3.8.6, RFC 7323).
#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {
Options with_timestamps() {
  Options options = ScriptedPeer::plain();
  options.timestamps = true;
  return options;
}
}  // namespace

TEST_CASE("no byte goes beyond the peer's window") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.acknowledge(0, 1500);
  peer.write(5000);
  REQUIRE(peer.sent() == "A 1:1001 ack 1");  // the other 500 bytes are silly while something is in flight
  peer.acknowledge(1000, 500);
  REQUIRE(peer.sent().empty());
}

TEST_CASE("a window that is small for what waits is used after a while") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.acknowledge(0, 500);
  peer.write(800);
  REQUIRE(peer.sent().empty());
  REQUIRE(peer.run(199ms).empty());
  REQUIRE(peer.run(1ms) == "A 1:501 ack 1");
  peer.acknowledge(500, 300);  // room for all that is left
  REQUIRE(peer.sent() == "PA 501:801 ack 1");

  SECTION("or when it opens") {
    peer.acknowledge(800, 500);
    peer.write(800);
    REQUIRE(peer.sent().empty());
    peer.acknowledge(800, 1000);
    REQUIRE(peer.sent() == "PA 801:1601 ack 1");
  }
  SECTION("or becomes a closed one, which is probed") {
    peer.acknowledge(800, 500);
    peer.write(800);
    REQUIRE(peer.sent().empty());
    peer.acknowledge(800, 0);
    REQUIRE(peer.run(200ms) == "A 800 ack 1");
  }
}

TEST_CASE("a retransmission of the peer that acknowledges something new brings its window") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  SegmentIn lost = peer.segment(flag::ack, 100);
  SegmentIn second = peer.segment(flag::ack, 100);
  second.seq += 100;
  second.window = 1000;
  peer.hand(second);
  peer.write(1000);
  REQUIRE(peer.sent() == "PA 1:1001 ack 1");
  lost.ack = kIss + 1001;
  lost.window = 0;  // the same edge as before
  peer.hand(lost);
  peer.write(1000);
  REQUIRE(peer.sent() == "A 1001 ack 201");
}

TEST_CASE("a segment from beyond our window does not make us deaf to the peer's windows") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  SegmentIn stray = peer.segment();
  stray.seq += 1u << 30;
  stray.window = 5;
  peer.hand(stray);
  REQUIRE(peer.connection().info().snd_wnd == 60000);
  peer.acknowledge(0, 7000);
  REQUIRE(peer.connection().info().snd_wnd == 7000);
}

TEST_CASE("the window that we announce shrinks as the reader rests, and opens when it reads") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.reading = false;
  for (int i = 1; i <= 60; ++i) {
    peer.hand(peer.segment(flag::ack, 1000));
    REQUIRE_FALSE(peer.sent().empty());
    REQUIRE(peer.last().window == 60000 - 1000 * i);
  }
  peer.hand(peer.segment(flag::ack, 1000));  // a probe of a window that is closed
  peer.peer_next = kPeerIss + 60001;
  REQUIRE(peer.sent() == "A 1 ack 60001");
  peer.connection().consume(1000);
  REQUIRE(peer.sent().empty());  // not worth an announcement yet
  for (int i = 1; i < 60; ++i) {
    peer.connection().consume(1000);
  }
  REQUIRE(peer.sent() == "A 1 ack 60001");
  REQUIRE(peer.last().window == 60000);
}

TEST_CASE("a peer without window scaling is not told of each read from a large buffer") {
  Options options = ScriptedPeer::plain();
  options.receive_buffer = 4 << 20;
  ScriptedPeer peer(options);
  peer.reach(State::syn_sent);
  SegmentIn answer = peer.segment(flag::syn | flag::ack);
  answer.seq = kPeerIss;
  answer.ack = kIss + 1;
  answer.window_scale = -1;
  peer.hand(answer);
  REQUIRE(peer.sent() == "A 1 ack 1");
  peer.reading = false;
  peer.hand(peer.segment(flag::ack, 1000));
  REQUIRE(peer.sent() == "A 1 ack 1001");
  peer.connection().consume(1000);
  REQUIRE(peer.sent().empty());
  REQUIRE(peer.connection().info().rcv_wnd == 65535);
}

TEST_CASE("a peer that sends byte by byte cannot make us keep more than the buffer") {
  Options options = ScriptedPeer::plain();
  options.receive_buffer = 100'000;  // a scale of 1
  ScriptedPeer peer(options);
  peer.establish();
  peer.reading = false;
  for (int i = 0; i < 110'000; ++i) {
    SegmentIn byte = peer.segment(flag::ack, 1);
    peer.hand(byte);
    peer.sent();
    peer.peer_next = peer.connection().info().rcv_nxt;
  }
  REQUIRE(peer.connection().info().bytes_received <= 100'000 + 2);
}

TEST_CASE("without memory a payload counts as lost, and is taken when it comes again") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.reading = peer.memory = false;
  const SegmentIn segment = peer.segment(flag::ack, 500);
  peer.hand(segment);
  REQUIRE(peer.sent() == "A 1 ack 1");
  peer.memory = true;
  peer.hand(segment);
  REQUIRE(peer.sent() == "A 1 ack 501");
  REQUIRE(peer.retained == 1);
}

TEST_CASE("a segment with an old timestamp is dropped and answered") {
  ScriptedPeer peer(with_timestamps());
  peer.ts_val = 1000;
  peer.establish();
  peer.hand(peer.segment(flag::ack, 100));
  REQUIRE(peer.sent() == "A 1 ack 101");
  peer.ts_val = 999;
  const SegmentIn old = peer.segment(flag::ack, 100);
  peer.hand(old);
  REQUIRE(peer.received == 100);
  REQUIRE(peer.sent() == "A 1 ack 101");
  peer.peer_next = old.seq;
  peer.ts_val = 1000u + 0x7fffffffu;  // half of the space ahead is new
  peer.hand(peer.segment(flag::ack, 100));
  REQUIRE(peer.received == 200);
}

TEST_CASE("a segment without the timestamp that was agreed on is dropped, but an RST counts") {
  ScriptedPeer peer(with_timestamps());
  peer.establish();
  SegmentIn bare = peer.segment(flag::ack, 100);
  bare.has_timestamps = false;
  peer.hand(bare);
  REQUIRE(peer.received == 0);
  peer.peer_next = bare.seq;
  SegmentIn reset = peer.segment(flag::rst);
  reset.has_timestamps = false;
  peer.hand(reset);
  REQUIRE(peer.connection().error() == ConnectionError::reset);
}

TEST_CASE("a segment outside of the window does not set the timestamp") {
  ScriptedPeer peer(with_timestamps());
  peer.ts_val = 1000;
  peer.establish();
  SegmentIn forged = peer.segment();
  forged.seq = forged.seq - 100000u;
  forged.ts_val = 0x70000000;
  peer.hand(forged);
  peer.sent();
  peer.hand(peer.segment(flag::ack, 100));
  REQUIRE(peer.received == 100);
}

TEST_CASE("a segment with an unbelievable acknowledgement does not set the timestamp") {
  ScriptedPeer peer(with_timestamps());
  peer.ts_val = 1000;
  peer.establish();
  SegmentIn forged = peer.segment();
  forged.ack += 5000;
  forged.ts_val = 0x70000000;
  peer.hand(forged);
  peer.sent();
  peer.hand(peer.segment(flag::ack, 100));
  REQUIRE(peer.received == 100);
}

TEST_CASE("an RST carries timestamps if they were agreed on") {
  ScriptedPeer peer(with_timestamps());
  peer.ts_val = 1000;
  peer.establish();
  peer.connection().abort();
  REQUIRE(peer.sent() == "RA 1 ack 1");
  REQUIRE(peer.last().option_size == 12);
}

TEST_CASE("an acknowledgement of what was not sent, or too old to be true, is refused") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  SegmentIn segment = peer.segment(flag::ack, 100);
  const std::uint32_t offset = GENERATE(1u, 0x80000000u, 0u - 70000u);
  segment.ack += offset;
  peer.hand(segment);
  REQUIRE(peer.received == 0);
  REQUIRE(peer.sent() == "A 1 ack 1");
}

TEST_CASE("the time that a peer's window costs is counted") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.advance(1s);
  peer.sent();
  REQUIRE(peer.connection().info().busy == Duration::zero());
  peer.write(1500);
  peer.acknowledge(0, 1000);
  peer.sent();
  peer.advance(20ms);
  peer.acknowledge(1000, 0);
  peer.sent();
  peer.advance(30ms);
  peer.acknowledge(1000, 1000);
  peer.sent();
  peer.advance(5ms);
  peer.acknowledge(1500);
  peer.sent();
  peer.advance(1s);
  peer.sent();
  // The rest of 500 bytes has waited from the start until the window came.
  REQUIRE(peer.connection().info().peer_window_limited == 50ms);
  REQUIRE(peer.connection().info().busy == 55ms);
}

TEST_CASE("the time that the network costs is counted while bytes are left to send") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.write(20000);  // of which ten segments fit into the first window
  peer.sent();
  peer.advance(20ms);
  peer.acknowledge(10000);
  peer.sent();
  REQUIRE(peer.connection().info().network_limited == 20ms);
  peer.advance(30ms);
  peer.acknowledge(20000);
  peer.sent();
  // All had been sent, and its acknowledgements were under way.
  REQUIRE(peer.connection().info().network_limited == 20ms);
  REQUIRE(peer.connection().info().busy == 50ms);
  REQUIRE(peer.connection().info().delivered == 20000);
}

TEST_CASE(
    "a connection that its owner holds back is busy, and neither the peer nor the network is to blame") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.write(5000);
  peer.connection().hold_back(peer.now());
  peer.advance(20ms);
  peer.connection().hold_back(peer.now());
  REQUIRE(peer.connection().info().busy == 20ms);
  REQUIRE(peer.connection().info().peer_window_limited == Duration::zero());
  REQUIRE(peer.connection().info().network_limited == Duration::zero());
  peer.sent();
  peer.acknowledge(5000);
  peer.sent();
  peer.connection().hold_back(peer.now());
  peer.advance(1s);
  peer.connection().hold_back(peer.now());
  REQUIRE(peer.connection().info().busy == 20ms);  // there was nothing to send
}
