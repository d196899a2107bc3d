#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

TEST_CASE("each state is reached as RFC 9293 draws it") {
  const State state = GENERATE(State::established, State::fin_wait_1, State::fin_wait_2, State::close_wait,
                               State::closing, State::last_ack, State::time_wait);
  INFO(to_string(state));
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(state);
}

TEST_CASE("after close() what is queued still goes out, with the FIN on its last segment") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.write(1500);
  peer.connection().close();
  REQUIRE(peer.sent() == "A 1:1001 ack 1, FPA 1001:1501 ack 1");
  REQUIRE(peer.connection().send_room() == 0);
  peer.acknowledge(1501);
  REQUIRE(peer.state() == State::fin_wait_2);
  REQUIRE(peer.connection().stream_acked() == 1500);
}

TEST_CASE("a FIN that is sent again is no byte that is") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.write(500);
  peer.sent();
  peer.connection().close();
  REQUIRE(peer.sent() == "FA 501 ack 1");
  peer.acknowledge(500);
  peer.advance(2s);
  REQUIRE(peer.sent().starts_with("FA 501 ack 1"));
  REQUIRE(peer.connection().info().bytes_retransmitted == 0);
}

TEST_CASE("a half-closed connection receives") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::fin_wait_2);
  peer.hand(peer.segment(flag::ack, 700));
  REQUIRE(peer.sent() == "A 2 ack 701");
  REQUIRE(peer.received == 700);
  REQUIRE_FALSE(peer.connection().peer_finished());
  peer.hand(peer.segment(flag::ack | flag::fin, 300));
  REQUIRE(peer.received == 1000);
  REQUIRE(peer.connection().peer_finished());
  REQUIRE(peer.state() == State::time_wait);
}

TEST_CASE("a half-closed connection sends") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::close_wait);
  peer.write(300);
  REQUIRE(peer.sent() == "PA 1:301 ack 2");
}

TEST_CASE("a FIN ahead of a hole waits for it") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  SegmentIn fin = peer.segment(flag::fin | flag::ack, 100);
  fin.seq += 200;
  peer.hand(fin);
  REQUIRE(peer.state() == State::established);
  peer.hand(peer.segment(flag::ack, 200));
  REQUIRE(peer.received == 300);
  REQUIRE(peer.state() == State::close_wait);
  REQUIRE(peer.sent() == "A 1 ack 302");
}

TEST_CASE("the peer has finished only when its last byte is read") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.reading = false;
  peer.hand(peer.segment(flag::fin | flag::ack, 100));
  REQUIRE(peer.state() == State::close_wait);
  REQUIRE_FALSE(peer.connection().peer_finished());
  peer.connection().consume(100);
  REQUIRE(peer.connection().peer_finished());
}

TEST_CASE("bytes that are acknowledged can be read after any error but our own abort()") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.reading = false;
  peer.hand(peer.segment(flag::ack, 700));
  peer.hand(peer.segment(flag::ack, 300));
  SegmentIn behind = peer.segment(flag::ack, 100);  // behind a hole: not acknowledged
  behind.seq += 50;
  peer.hand(behind);
  REQUIRE(peer.sent() == "A 1 ack 1001");
  std::size_t expected = 1000;

  SECTION("a reset") {
    peer.hand(peer.segment(flag::rst));
    REQUIRE(peer.connection().error() == ConnectionError::reset);
  }
  SECTION("a time-out") {
    peer.write(10);
    REQUIRE(peer.sent() == "PA 1:11 ack 1001");
    peer.run(60s);
    REQUIRE(peer.connection().error() == ConnectionError::timed_out);
  }
  SECTION("the loss of the path") { peer.connection().fail(ConnectionError::unreachable); }
  SECTION("abort() after an error, which changes nothing") {
    peer.connection().fail(ConnectionError::unreachable);
    peer.connection().abort();
  }
  SECTION("abort()") {
    peer.connection().abort();
    expected = 0;
  }
  REQUIRE(peer.state() == State::closed);
  std::size_t read = 0;
  while (!peer.connection().readable().empty()) {
    const std::size_t n = std::min<std::size_t>(peer.connection().readable().size(), 400);
    peer.connection().consume(static_cast<std::uint32_t>(n));
    read += n;
  }
  REQUIRE(read == expected);
  REQUIRE_FALSE(peer.connection().peer_finished());
  if (expected > 0) {
    REQUIRE(peer.sent().empty());  // reading opens no window any more
  }
}

TEST_CASE("bytes behind the FIN are not read and do not hide it") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  SegmentIn fin = peer.segment(flag::fin | flag::ack);
  fin.seq += 100;
  peer.hand(fin);
  peer.hand(peer.segment(flag::ack, 500));
  REQUIRE(peer.received == 100);
  REQUIRE(peer.state() == State::close_wait);
}

TEST_CASE("TIME-WAIT acknowledges a FIN that comes again, and ends") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::time_wait);
  SegmentIn fin = peer.segment(flag::fin | flag::ack);
  fin.seq = kPeerIss + 1;
  peer.hand(fin);
  REQUIRE(peer.sent() == "A 2 ack 2");
  REQUIRE(peer.run(99ms).empty());
  REQUIRE_FALSE(peer.connection().finished());
  peer.run(1ms);
  REQUIRE(peer.connection().finished());
  REQUIRE(peer.connection().error() == ConnectionError::none);
}

TEST_CASE("a lost FIN is repeated") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::last_ack);
  REQUIRE(peer.run(200ms) == "FA 1 ack 2");
  peer.hand(peer.segment());
  REQUIRE(peer.connection().finished());
}

TEST_CASE("FIN-WAIT-2 lasts while the peer sends, and ends with an error when it falls silent") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::fin_wait_2);
  for (int i = 0; i < 5; ++i) {
    peer.run(4s);
    peer.hand(peer.segment(flag::ack, 100));
  }
  peer.run(4999ms);
  REQUIRE(peer.state() == State::fin_wait_2);
  peer.run(1ms);
  REQUIRE(peer.connection().finished());
  REQUIRE(peer.connection().error() == ConnectionError::timed_out);
}

TEST_CASE("FIN-WAIT-2 lasts while the peer repeats itself, since it is our answers that are lost") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::fin_wait_2);
  const SegmentIn known = peer.segment(flag::ack, 100);
  for (int i = 0; i < 3; ++i) {
    peer.hand(known);
    REQUIRE(peer.sent() == "A 2 ack 101");
    peer.run(4s);
  }
  REQUIRE(peer.state() == State::fin_wait_2);
}

TEST_CASE("FIN-WAIT-2 lasts while the peer's FIN comes, and what was before it does not") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::fin_wait_2);
  SegmentIn fin = peer.segment(flag::fin | flag::ack);
  fin.seq += 100;
  for (int i = 0; i < 3; ++i) {
    peer.hand(fin);
    REQUIRE(peer.sent() == "A 2 ack 1");  // RFC 5681 §4.2: a segment out of order is answered at once
    peer.run(4s);
  }
  peer.hand(peer.segment(flag::ack, 100));
  REQUIRE(peer.state() == State::time_wait);
}

TEST_CASE("FIN-WAIT-2 does not blame the peer for a reader that rests") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::fin_wait_2);
  peer.reading = false;
  peer.hand(peer.segment(flag::ack, 100));
  peer.run(60s);
  REQUIRE(peer.state() == State::fin_wait_2);
  peer.connection().consume(100);
  peer.run(4s);
  REQUIRE(peer.state() == State::fin_wait_2);
  peer.run(5s);
  REQUIRE(peer.connection().finished());
}

TEST_CASE("a FIN goes with the last segment, if that is a full one too") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.write(2000);
  peer.connection().close();
  REQUIRE(peer.sent() == "A 1:1001 ack 1, FPA 1001:2001 ack 1");
  REQUIRE(peer.connection().info().snd_nxt == kIss + 2002);

  SECTION("and again when it is repeated") {
    peer.acknowledge(1000);
    REQUIRE(peer.run(200ms) == "PA 1001:2001 ack 1");
    peer.acknowledge(2000);
    REQUIRE(peer.sent() == "FA 2001 ack 1");
  }
  SECTION("whose acknowledgement may leave it out") {
    peer.acknowledge(2000);
    REQUIRE(peer.run(200ms) == "FA 2001 ack 1");
    peer.acknowledge(2001);
    REQUIRE(peer.state() == State::fin_wait_2);
  }
}

TEST_CASE("a FIN does not wait for room in the congestion window, but for the peer's window") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  SECTION("congestion window") {
    peer.write(10'000);
    peer.sent();
    REQUIRE(peer.connection().info().flight == peer.connection().info().cwnd);
    peer.connection().close();
    REQUIRE(peer.sent() == "FA 10001 ack 1");
  }
  SECTION("the peer's") {
    peer.acknowledge(0, 1000);
    peer.write(1000);
    peer.connection().close();
    REQUIRE(peer.sent() == "PA 1:1001 ack 1");
    peer.acknowledge(1000, 1000);
    REQUIRE(peer.sent() == "FA 1001 ack 1");
  }
}

TEST_CASE("a FIN that comes again starts TIME-WAIT anew") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::time_wait);
  peer.run(60ms);
  SegmentIn fin = peer.segment(flag::fin | flag::ack);
  fin.seq = fin.seq - 1u;
  peer.hand(fin);
  REQUIRE(peer.sent() == "A 2 ack 2");
  peer.run(60ms);
  REQUIRE(peer.state() == State::time_wait);
  peer.run(40ms);
  REQUIRE(peer.connection().finished());
}

TEST_CASE("a FIN is taken although our window is closed") {
  Options options = ScriptedPeer::plain();
  options.receive_buffer = 20'000;
  ScriptedPeer peer(options);
  peer.establish();
  peer.reading = false;
  peer.hand(peer.segment(flag::ack, 20'000));
  REQUIRE(peer.sent() == "A 1 ack 20001");
  REQUIRE(peer.last().window == 0);
  peer.hand(peer.segment(flag::ack | flag::fin));
  REQUIRE(peer.sent() == "A 1 ack 20002");
  REQUIRE(peer.state() == State::close_wait);
}
