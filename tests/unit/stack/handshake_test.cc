#include <array>
#include <catch2/catch.hpp>
#include <span>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

TEST_CASE("an active open sends a SYN and answers the SYN-ACK") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.connect();
  REQUIRE(peer.sent() == "S 0");
  SegmentIn answer = peer.segment(flag::syn | flag::ack);
  answer.seq = kPeerIss;
  answer.ack = kIss + 1;
  peer.hand(answer);
  REQUIRE(peer.state() == State::established);
  REQUIRE(peer.sent() == "A 1 ack 1");
}

TEST_CASE("a SYN is repeated with growing pauses until connect_timeout") {
  Options options = ScriptedPeer::plain();
  options.initial_rto = 200ms;
  options.connect_timeout = 2s;
  ScriptedPeer peer(options);
  peer.connect();
  REQUIRE(peer.sent() == "S 0");
  REQUIRE(peer.run(1999ms) == "S 0, S 0, S 0");  // at 200, 600 and 1400 ms
  REQUIRE(peer.run(1ms).empty());
  REQUIRE(peer.connection().error() == ConnectionError::timed_out);
  REQUIRE(peer.connection().finished());
}

TEST_CASE("a passive open repeats its SYN-ACK when the SYN comes again") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::syn_received);
  SegmentIn syn = peer.segment(flag::syn);
  syn.seq = kPeerIss;
  peer.hand(syn);
  REQUIRE(peer.sent() == "SA 0 ack 1");
  peer.acknowledge(0);
  REQUIRE(peer.state() == State::established);
}

TEST_CASE("an acknowledgement of what was never sent resets SYN-RECEIVED's peer and no more") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::syn_received);
  peer.acknowledge(1000);
  REQUIRE(peer.sent() == "R 1001");
  REQUIRE(peer.state() == State::syn_received);
}

TEST_CASE("a simultaneous open ends with one SYN-ACK from each side") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::syn_sent);
  SegmentIn syn = peer.segment(flag::syn);
  syn.seq = kPeerIss;
  peer.hand(syn);
  REQUIRE(peer.state() == State::syn_received);
  REQUIRE(peer.sent() == "SA 0 ack 1");
  SegmentIn answer = peer.segment(flag::syn | flag::ack);
  answer.seq = kPeerIss;
  answer.ack = kIss + 1;
  peer.hand(answer);
  REQUIRE(peer.state() == State::established);
  REQUIRE(peer.sent() == "A 1 ack 1");
}

TEST_CASE("a SYN that was due again does not leave an open connection") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::syn_sent);
  peer.advance(200ms);
  SegmentIn answer = peer.segment(flag::syn | flag::ack);
  answer.seq = kPeerIss;
  answer.ack = kIss + 1;
  peer.hand(answer);
  REQUIRE(peer.sent() == "A 1 ack 1");
}

TEST_CASE("a SYN-ACK that comes twice does not change the window") {
  Options options = ScriptedPeer::plain();
  options.receive_buffer = 4 << 20;
  ScriptedPeer peer(options);
  peer.reach(State::syn_sent);
  SegmentIn answer = peer.segment(flag::syn | flag::ack);
  answer.seq = kPeerIss;
  answer.ack = kIss + 1;
  answer.window_scale = 7;
  answer.window = 3000;
  peer.hand(answer);
  REQUIRE(peer.sent() == "A 1 ack 1");
  REQUIRE(peer.connection().info().snd_wnd == 3000);
  peer.hand(answer);
  REQUIRE(peer.sent() == "A 1 ack 1");
  REQUIRE(peer.connection().info().snd_wnd == 3000);
}

TEST_CASE("a peer without options gets none") {
  Options options = ScriptedPeer::plain();
  options.timestamps = options.sack = true;
  options.receive_buffer = 4 << 20;
  ScriptedPeer peer(options);
  peer.reach(State::syn_sent);
  SegmentIn answer = peer.segment(flag::syn | flag::ack);
  answer.seq = kPeerIss;
  answer.ack = kIss + 1;
  answer.mss = 0;
  answer.window_scale = -1;
  answer.has_timestamps = answer.sack_permitted = false;
  peer.hand(answer);
  REQUIRE(peer.sent() == "A 1 ack 1");
  REQUIRE(peer.last().option_size == 0);
  REQUIRE(peer.last().window == 65535);
  REQUIRE(peer.connection().info().mss == 536);
}

TEST_CASE("the handshake is the first sample of the round-trip time, in both roles") {
  const State state = GENERATE(State::syn_sent, State::syn_received);
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(state);
  peer.advance(30ms);
  SegmentIn answer = peer.segment(state == State::syn_sent ? flag::syn | flag::ack : flag::ack);
  answer.seq = state == State::syn_sent ? kPeerIss : kPeerIss + 1;
  answer.ack = kIss + 1;
  peer.hand(answer);
  REQUIRE(peer.state() == State::established);
  REQUIRE(peer.connection().info().srtt == 30ms);
}

TEST_CASE("a SYN that went out twice tells nothing of the round-trip time") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::syn_received);
  REQUIRE(peer.run(200ms) == "SA 0 ack 1");
  peer.acknowledge(0);
  REQUIRE(peer.state() == State::established);
  REQUIRE(peer.connection().info().srtt == Duration::zero());
}

TEST_CASE("a SYN carries the options that it offers, and no padding for the others") {
  const auto [timestamps, sack, bytes] = GENERATE(
      table<bool, bool, int>({{false, false, 8}, {false, true, 12}, {true, false, 20}, {true, true, 20}}));
  Options options = ScriptedPeer::plain();
  options.timestamps = timestamps;
  options.sack = sack;
  ScriptedPeer peer(options);
  peer.connect();
  REQUIRE(peer.sent() == "S 0");
  REQUIRE(peer.last().option_size == bytes);
  std::array<std::byte, 60> header;
  write_header(peer.last(), header.data());
  const auto parsed = parse_segment(std::span(header).first(peer.last().header_size()));
  REQUIRE(parsed);
  REQUIRE(parsed->mss == 1000);
  REQUIRE(parsed->sack_permitted == sack);
  REQUIRE(parsed->has_timestamps == timestamps);
  REQUIRE(parsed->window_scale == 0);
}

TEST_CASE("a tiny or missing MSS of the peer is lifted, a large one is cut to ours") {
  const auto [offered, used] =
      GENERATE(table<std::uint16_t, std::uint32_t>({{1, 64}, {900, 900}, {9000, 1000}}));
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::syn_sent);
  SegmentIn answer = peer.segment(flag::syn | flag::ack);
  answer.seq = kPeerIss;
  answer.ack = kIss + 1;
  answer.mss = offered;
  peer.hand(answer);
  REQUIRE(peer.connection().info().mss == used);
}

TEST_CASE("closing before the handshake is done gives up") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::syn_sent);
  peer.connection().close();
  REQUIRE(peer.connection().finished());
  REQUIRE(peer.sent().empty());
}

TEST_CASE("a connection in SYN-SENT begins anew with other ports, and what was queued goes out by them") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.connect();
  peer.write(100);
  REQUIRE(peer.sent() == "S 0");
  const Ports ports{4321, 80};
  peer.connection().begin_anew(ports, kIss + 5000, peer.now());
  REQUIRE(peer.sent() == "S 5000");
  REQUIRE(peer.last().source_port == 4321);
  SegmentIn late = peer.segment(flag::syn | flag::ack);  // the answer to the first one
  late.seq = kPeerIss;
  late.ack = kIss + 1;
  peer.hand(late);
  REQUIRE(peer.state() == State::syn_sent);
  REQUIRE(peer.sent() == "R 1");
  SegmentIn answer = late;
  answer.ack = kIss + 5001;
  peer.hand(answer);
  REQUIRE(peer.state() == State::established);
  REQUIRE(peer.sent() == "PA 5001:5101 ack 1");
}
