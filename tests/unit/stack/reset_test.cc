// RST in each state (RFC 9293 §3.10.7, RFC 5961 §3 and §4), and the resets that we send.
#include <catch2/catch.hpp>
#include <iterator>
#include <string_view>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

TEST_CASE("an RST with exactly the next sequence number ends the connection") {
  const auto [state, error] = GENERATE(table<State, ConnectionError>({
      {State::syn_received, ConnectionError::reset},
      {State::established, ConnectionError::reset},
      {State::fin_wait_1, ConnectionError::reset},
      {State::fin_wait_2, ConnectionError::reset},
      {State::close_wait, ConnectionError::reset},
      {State::closing, ConnectionError::none},
      {State::last_ack, ConnectionError::none},
      {State::time_wait, ConnectionError::none},
  }));
  INFO(to_string(state));
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(state);
  peer.hand(peer.segment(flag::rst));
  REQUIRE(peer.connection().finished());
  REQUIRE(peer.connection().error() == error);
  REQUIRE(peer.sent().empty());
  REQUIRE(peer.connection().next_deadline() == kNever);
}

TEST_CASE("an RST elsewhere in the window is answered by a challenge ACK") {
  const State state = GENERATE(from_range(std::begin(kSynchronised), std::end(kSynchronised)));
  INFO(to_string(state));
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(state);
  SegmentIn reset = peer.segment(flag::rst);
  reset.seq += 1;
  peer.hand(reset);
  REQUIRE(peer.state() == state);
  REQUIRE(peer.sent().substr(0, 2) == "A ");
}

TEST_CASE("an RST at the end of what has arrived counts while something is missing before it") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  for (const std::uint32_t hole : {1000u, 3000u}) {
    SegmentIn data = peer.segment(flag::ack, 1000);
    data.seq += hole;
    peer.hand(data);
  }
  peer.sent();
  SegmentIn reset = peer.segment(flag::rst);
  reset.seq += 2000;  // the end of a block, but not of the last one
  peer.hand(reset);
  REQUIRE(peer.state() == State::established);
  REQUIRE(peer.sent().substr(0, 2) == "A ");
  reset.seq += 2000;
  peer.hand(reset);
  REQUIRE(peer.connection().finished());
  REQUIRE(peer.connection().error() == ConnectionError::reset);
}

TEST_CASE("an RST outside of the window is ignored") {
  const State state = GENERATE(from_range(std::begin(kSynchronised), std::end(kSynchronised)));
  INFO(to_string(state));
  const std::uint32_t offset = GENERATE(0xffffffffu, 0x40000000u);
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(state);
  SegmentIn reset = peer.segment(flag::rst);
  reset.seq += offset;
  peer.hand(reset);
  REQUIRE(peer.state() == state);
  REQUIRE(peer.sent().empty());
}

TEST_CASE("an RST ends a connection that owes one, which is not sent, nor the peer's reason with it") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::syn_received);
  SegmentIn stray = peer.segment();
  stray.ack = kIss + 5000;
  peer.hand(stray);
  static constexpr std::string_view kReason = "I am gone";
  SegmentIn reset = peer.segment(flag::rst);
  reset.payload = {reinterpret_cast<const std::byte*>(kReason.data()), kReason.size(), nullptr};
  peer.hand(reset);
  REQUIRE(peer.connection().reset_reason() == kReason);
  REQUIRE(peer.connection().finished());
  REQUIRE(peer.sent().empty());
}

TEST_CASE("a SYN on an open connection is answered by a challenge ACK") {
  const State state = GENERATE(from_range(std::begin(kSynchronised), std::end(kSynchronised)));
  INFO(to_string(state));
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(state);
  peer.hand(peer.segment(flag::syn));
  REQUIRE(peer.state() == state);
  REQUIRE(peer.sent().substr(0, 2) == "A ");
}

TEST_CASE("in SYN-SENT an RST counts only if it acknowledges the SYN") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::syn_sent);
  peer.hand(peer.segment(flag::rst));
  REQUIRE(peer.state() == State::syn_sent);
  SegmentIn reset = peer.segment(flag::rst | flag::ack);
  reset.ack = kIss;
  peer.hand(reset);
  REQUIRE(peer.state() == State::syn_sent);
  reset.ack = kIss + 1;
  peer.hand(reset);
  REQUIRE(peer.connection().error() == ConnectionError::refused);
  REQUIRE(peer.connection().finished());
}

TEST_CASE("an acknowledgement of an older connection is reset in SYN-SENT, and ours goes on") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::syn_sent);
  SegmentIn stray = peer.segment();
  stray.ack = kIss + 5000;
  peer.hand(stray);
  REQUIRE(peer.sent() == "R 5000");
  REQUIRE(peer.state() == State::syn_sent);
}

TEST_CASE("challenge ACKs are limited") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  SegmentIn reset = peer.segment(flag::rst);
  reset.seq += 1;
  SegmentIn old = peer.segment();
  old.seq = old.seq - 5000u;
  int answers = 0;
  for (int i = 0; i < 1000; ++i) {
    peer.hand(i % 2 == 0 ? reset : old);
    answers += peer.sent().empty() ? 0 : 1;
  }
  REQUIRE(answers == 100);
  peer.run(1s);
  peer.hand(reset);
  REQUIRE_FALSE(peer.sent().empty());
}

TEST_CASE("old data is answered without a limit, for its sender knows no better") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  SegmentIn old = peer.segment(flag::ack, 100);
  old.seq = old.seq - 100u;
  for (int i = 0; i < 300; ++i) {
    peer.hand(old);
    REQUIRE(peer.sent() == "A 1 ack 1");
  }
}

TEST_CASE("abort() tells a peer that knows of the connection") {
  const auto [state, tells] = GENERATE(table<State, bool>({{State::syn_sent, false},
                                                           {State::syn_received, true},
                                                           {State::established, true},
                                                           {State::fin_wait_2, true},
                                                           {State::close_wait, true},
                                                           {State::time_wait, false}}));
  INFO(to_string(state));
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(state);
  peer.connection().abort();
  REQUIRE(peer.connection().finished() != tells);
  const std::string sent = peer.sent();
  REQUIRE((tells ? sent.substr(0, 2) == "RA" : sent.empty()));
  REQUIRE(peer.connection().finished());
  REQUIRE(peer.connection().error() == ConnectionError::aborted);
}

TEST_CASE("a segment for no connection is answered by the RST that its sender accepts") {
  SegmentIn segment;
  segment.source_port = 1;
  segment.destination_port = 2;
  segment.seq = Seq(100);
  segment.ack = Seq(500);
  segment.payload.size = 10;
  segment.flags = flag::syn | flag::fin;
  auto reset = reset_for(segment);
  REQUIRE(reset->flags == (flag::rst | flag::ack));
  REQUIRE(reset->ack == Seq(112));
  REQUIRE(reset->seq == Seq(0));
  REQUIRE(reset->source_port == 2);
  segment.flags = flag::ack;
  reset = reset_for(segment);
  REQUIRE(reset->flags == flag::rst);
  REQUIRE(reset->seq == Seq(500));
  segment.flags = flag::rst;
  REQUIRE_FALSE(reset_for(segment));
}
