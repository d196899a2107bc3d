// Attacks on a connection by guessed sequence numbers (RFC 5961), and segments after TIME-WAIT.
#include <catch2/catch.hpp>
#include <iterator>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

// How many segments the connection has for `count` copies of one that comes in.
int answers(ScriptedPeer& peer, const SegmentIn& segment, int count) {
  int answered = 0;
  for (int i = 0; i < count; ++i) {
    peer.hand(segment);
    answered += peer.sent().empty() ? 0 : 1;
  }
  return answered;
}

}  // namespace

TEST_CASE("a SYN on a synchronised connection is answered by a challenge ACK, at a limited rate") {
  const State state = GENERATE(from_range(std::begin(kSynchronised), std::end(kSynchronised)));
  const std::uint32_t offset = GENERATE(0u, 1u, 0x40000000u, 0xc0000000u);
  const bool timestamps = GENERATE(false, true);
  INFO(to_string(state) << " offset " << offset << " timestamps " << timestamps);
  Options options = ScriptedPeer::plain();
  options.timestamps = timestamps;
  ScriptedPeer peer(options);
  peer.ts_val = 1000;
  peer.reach(state);
  SegmentIn syn = peer.segment(flag::syn);
  syn.seq += offset;
  syn.ts_val = GENERATE(999u, 2000u);  // the clock of a host that has started anew, or runs on
  const int answered = answers(peer, syn, 1000);
  CHECK(answered > 0);
  CHECK(answered <= 100);
  CHECK(peer.state() == state);
}

TEST_CASE("a new SYN on a half-open connection is answered like the first one") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(State::syn_received);
  SegmentIn syn = peer.segment(flag::syn);
  syn.seq = kPeerIss + 5000;
  peer.hand(syn);
  REQUIRE(peer.sent() == "SA 0 ack 1");  // the peer, which knows nothing of it, resets it
  SegmentIn reset = peer.segment(flag::rst);
  reset.seq = kPeerIss + 1;
  peer.hand(reset);
  REQUIRE(peer.connection().finished());
}

TEST_CASE("guessed resets and acknowledgements change nothing and are answered at a limited rate") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  SegmentIn reset = peer.segment(flag::rst);
  reset.seq += 7;
  SegmentIn ack = peer.segment();
  ack.ack += 0x10000000;
  SegmentIn old = peer.segment();
  old.ack = old.ack - 0x10000000;
  CHECK(answers(peer, reset, 1000) + answers(peer, ack, 1000) + answers(peer, old, 1000) <= 100);
  CHECK(peer.state() == State::established);
}

TEST_CASE("data with a guessed acknowledgement is not taken") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  SegmentIn data = peer.segment(flag::ack, 100);
  data.ack += GENERATE(0x10000000u, 0xf0000000u);
  peer.hand(data);
  REQUIRE(peer.received == 0);
}

TEST_CASE("TIME-WAIT is reopened by a SYN that cannot be an old one") {
  struct Case {
    bool timestamps;
    std::uint32_t sequence, time;
    bool reopened;
  };
  const auto c = GENERATE(values<Case>({{false, 1, 0, true},
                                        {false, 0x7fffff00, 0, true},
                                        {false, 0, 0, false},
                                        {false, 0x80000001, 0, false},
                                        {true, 0x80000001, 1, true},
                                        {true, 1, 0, true},
                                        {true, 0, 0, false},
                                        {true, 1, 0xffffffff, false}}));
  INFO(c.timestamps << ' ' << c.sequence << ' ' << c.time);
  Options options = ScriptedPeer::plain();
  options.timestamps = c.timestamps;
  ScriptedPeer peer(options);
  peer.ts_val = 1000;
  peer.reach(State::time_wait);
  SegmentIn syn = peer.segment(flag::syn);
  syn.seq += c.sequence;
  syn.ts_val = 1000 + c.time;
  CHECK(peer.connection().reopened_by(syn) == c.reopened);
  syn.flags = flag::syn | flag::ack;
  CHECK_FALSE(peer.connection().reopened_by(syn));
}

TEST_CASE("no other state is reopened by a SYN") {
  const State state = GENERATE(State::established, State::fin_wait_2, State::close_wait, State::last_ack);
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.reach(state);
  SegmentIn syn = peer.segment(flag::syn);
  syn.seq += 1000;
  CHECK_FALSE(peer.connection().reopened_by(syn));
}

TEST_CASE("out of order, a peer that is not trusted yet costs no memory, and later as any other") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.connection().keep_out_of_order(false);
  SegmentIn behind = peer.segment(flag::ack, 100);
  behind.seq += 100;
  peer.hand(behind);
  CHECK(peer.retained == 0);
  CHECK(peer.sent() == "A 1 ack 1");
  peer.connection().keep_out_of_order(true);
  peer.hand(behind);
  CHECK(peer.retained == 1);
  peer.hand(peer.segment(flag::ack, 100));
  CHECK(peer.received == 200);
}

TEST_CASE("a path that is gone takes the reset with it that was to be sent") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  peer.connection().abort();
  REQUIRE_FALSE(peer.connection().finished());
  peer.connection().fail(ConnectionError::unreachable);
  REQUIRE(peer.connection().finished());
  REQUIRE(peer.connection().error() == ConnectionError::aborted);
  REQUIRE(peer.sent().empty());
}
