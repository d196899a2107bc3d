// Retransmission, keep-alive, user time-out, zero-window probes.
#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {
Options with_keepalive() {
  Options options = ScriptedPeer::plain();
  options.keepalive_idle = 5s;
  options.keepalive_interval = 1s;
  options.keepalive_probes = 3;
  return options;
}

Options impatient() {
  Options options = ScriptedPeer::plain();
  options.initial_rto = options.min_rto = 100ms;
  options.max_rto = 2s;
  return options;
}

Options with_user_timeout() {
  Options options = ScriptedPeer::plain();
  options.user_timeout = 3s;
  options.max_rto = 1s;
  return options;
}

// A hundred bytes wait for the peer's window, and the first probe of it has left.
void establish_and_wait_for_window(ScriptedPeer& peer) {
  peer.establish();
  peer.acknowledge(0, 0);
  peer.write(100);
  REQUIRE(peer.sent().empty());
  REQUIRE(peer.run(200ms) == "A 0 ack 1");
}

// The first hundred bytes have a round trip of 10 ms.
void establish_and_measure(ScriptedPeer& peer) {
  peer.establish();
  peer.write(100);
  peer.sent();
  peer.advance(10ms);
  peer.ts_ecr = 3'600'000;
  peer.acknowledge(100);
}
}  // namespace

TEST_CASE("what is not acknowledged is repeated with growing pauses") {
  Options options = ScriptedPeer::plain();
  options.initial_rto = options.min_rto = 100ms;
  options.max_rto = 350ms;
  ScriptedPeer peer(options);
  peer.establish();
  peer.write(100);
  REQUIRE(peer.sent() == "PA 1:101 ack 1");
  const Instant start = peer.now();
  for (const Duration expected : {100ms, 300ms, 650ms, 1000ms}) {
    REQUIRE(peer.connection().next_deadline() - start == expected);
    REQUIRE(peer.run(start + expected - peer.now()) == "PA 1:101 ack 1");
  }
  REQUIRE(peer.connection().info().timeouts == 4);
  peer.acknowledge(100);
  REQUIRE(peer.connection().next_deadline() == kNever);
}

TEST_CASE("a time-out that has grown stays so until a round trip is measured") {
  Options options = impatient();
  options.timestamps = GENERATE(false, true);
  CAPTURE(options.timestamps);
  ScriptedPeer peer(options);
  establish_and_measure(peer);
  peer.write(100);
  peer.sent();
  peer.run(310ms);
  REQUIRE(peer.connection().info().rto == 400ms);

  SECTION("which an acknowledgement of what was sent twice does by its timestamp only") {
    peer.ts_ecr = 3'600'310;
    peer.acknowledge(200);
    REQUIRE(peer.connection().info().rto == (options.timestamps ? 100ms : 400ms));
  }
  SECTION("if that is not the one of the original") {
    peer.ts_ecr = 3'600'010;
    peer.acknowledge(200);
    REQUIRE(peer.connection().info().rto == 400ms);
  }
  peer.write(100);
  peer.sent();
  peer.advance(10ms);
  peer.ts_ecr = 3'600'320;
  peer.acknowledge(300);
  REQUIRE(peer.connection().info().rto == 100ms);
}

// Three lost repetitions of a first segment, and what had arrived behind it took four seconds: the time-outs
// after it were as long.
TEST_CASE("what has waited behind a lost segment does not measure the round trip") {
  Options options = impatient();
  options.timestamps = GENERATE(false, true);
  options.sack = GENERATE(false, true);
  CAPTURE(options.timestamps, options.sack);
  ScriptedPeer peer(options);
  establish_and_measure(peer);
  peer.write(3000);
  peer.sent();
  std::uint32_t now = 3'600'010;
  for (; peer.connection().info().timeouts < 3; now += 5) {
    peer.run(5ms);
  }
  peer.ts_ecr = now;
  peer.advance(10ms);
  peer.acknowledge(3100);
  const ConnectionInfo info = peer.connection().info();
  REQUIRE(info.srtt <= 10ms);
  REQUIRE(info.min_rtt <= 10ms);
  REQUIRE(info.rto == (options.timestamps ? 100ms : 800ms));
}

TEST_CASE("unacknowledged data ends the connection after user_timeout, with an RST") {
  Options options = ScriptedPeer::plain();
  options.user_timeout = 3s;
  options.max_rto = 10s;
  options.initial_rto = options.min_rto = 10s;
  ScriptedPeer peer(options);
  peer.establish();
  peer.run(60s);  // idle time does not count
  peer.write(100);
  REQUIRE_FALSE(peer.sent().empty());
  REQUIRE(peer.run(2999ms).empty());
  REQUIRE(peer.run(1ms) == "RA 101 ack 1");
  REQUIRE(peer.connection().error() == ConnectionError::timed_out);
  REQUIRE(peer.connection().silent_since() == peer.now() - 3s);
}

TEST_CASE("the user time-out can be changed with data in flight") {
  Options options = ScriptedPeer::plain();
  options.max_rto = 10s;
  options.initial_rto = options.min_rto = 10s;
  ScriptedPeer peer(options);
  peer.establish();
  peer.write(100);
  peer.sent();
  peer.run(1s);
  peer.connection().set_user_timeout(3s);
  REQUIRE(peer.run(1999ms).empty());
  REQUIRE(peer.run(1ms) == "RA 101 ack 1");
  REQUIRE(peer.connection().error() == ConnectionError::timed_out);
}

TEST_CASE("time in which the process did not run does not count toward giving the peer up") {
  Options options = ScriptedPeer::plain();
  options.user_timeout = 3s;
  options.max_rto = options.initial_rto = options.min_rto = 100s;
  ScriptedPeer peer(options);
  peer.establish();
  peer.write(100);
  peer.sent();
  peer.run(1s);
  peer.connection().forgive(60s, peer.now() + 60s);
  peer.advance(60s);
  REQUIRE(peer.run(1999ms).empty());
  REQUIRE(peer.run(1ms) == "RA 101 ack 1");
  REQUIRE(peer.connection().silent_since() == peer.now() - 3s);
}

TEST_CASE("after a pause of the process, an idle peer is asked as often as before it is given up") {
  ScriptedPeer peer(with_keepalive());
  peer.establish();
  REQUIRE(peer.run(6s) == "A 0 ack 1, A 0 ack 1");
  REQUIRE(peer.connection().probes_unanswered() == 2);
  peer.connection().forgive(60s, peer.now() + 60s);
  peer.advance(60s);
  REQUIRE(peer.sent() == "A 0 ack 1");
  REQUIRE(peer.run(2s) == "A 0 ack 1, A 0 ack 1");
  REQUIRE(peer.run(1s) == "RA 1 ack 1");
}

TEST_CASE("each byte of progress starts the user time-out anew") {
  Options options = ScriptedPeer::plain();
  options.user_timeout = 3s;
  ScriptedPeer peer(options);
  peer.establish();
  peer.write(1000);
  peer.sent();
  for (std::uint32_t i = 1; i < 20; ++i) {
    peer.run(2s);
    peer.acknowledge(i);
  }
  REQUIRE(peer.state() == State::established);
}

TEST_CASE("an idle connection asks by keep-alive probes, and ends when the peer does not answer") {
  ScriptedPeer peer(with_keepalive());
  peer.establish();
  REQUIRE(peer.run(4999ms).empty());
  REQUIRE(peer.run(1ms) == "A 0 ack 1");
  peer.hand(peer.segment());
  REQUIRE(peer.run(7s) == "A 0 ack 1, A 0 ack 1, A 0 ack 1");
  REQUIRE(peer.run(1s) == "RA 1 ack 1");
  REQUIRE(peer.connection().error() == ConnectionError::timed_out);
  REQUIRE(peer.connection().silent_since() == peer.now() - 8s);  // when it answered the first probe
}

TEST_CASE("keep-alive is there again after an outage with data in flight") {
  ScriptedPeer peer(with_keepalive());
  peer.establish();
  peer.write(100);
  peer.sent();
  peer.run(7s);
  peer.acknowledge(100);
  REQUIRE(peer.run(5s) == "A 100 ack 1");
}

TEST_CASE("a keep-alive probe of the peer is answered") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  SegmentIn probe = peer.segment();
  probe.seq = probe.seq - 1u;
  peer.hand(probe);
  REQUIRE(peer.sent() == "A 1 ack 1");
}

TEST_CASE("a closed window is probed until it opens, for however long the peer answers") {
  ScriptedPeer peer(with_user_timeout());
  establish_and_wait_for_window(peer);
  for (int i = 0; i < 60; ++i) {
    peer.acknowledge(0, 0);
    REQUIRE_FALSE(peer.run(2s).empty());
  }
  REQUIRE(peer.state() == State::established);
  peer.acknowledge(0, 1000);
  REQUIRE(peer.sent() == "PA 1:101 ack 1");
}

// Seed 3405026 of the simulation, where a damaged segment had acknowledged what the peer did not have.
TEST_CASE("a peer that answers probes by asking for what it has acknowledged is given up") {
  ScriptedPeer peer(with_user_timeout());
  peer.establish();
  peer.write(100);
  peer.sent();
  peer.acknowledge(100, 0);
  peer.write(100);
  peer.sent();
  for (int i = 0; i < 5; ++i) {
    peer.run(500ms);
    REQUIRE(peer.state() == State::established);
    peer.acknowledge(50);
  }
  peer.run(500ms + 200ms);  // from the first probe on
  REQUIRE(peer.connection().error() == ConnectionError::timed_out);
}

TEST_CASE("a peer that does not answer probes is given up") {
  ScriptedPeer peer(with_user_timeout());
  establish_and_wait_for_window(peer);
  peer.run(2999ms);
  REQUIRE(peer.state() == State::established);
  peer.run(1ms);
  REQUIRE(peer.connection().error() == ConnectionError::timed_out);
}

TEST_CASE("a process that was stopped while the peer's window is closed asks before it gives the peer up") {
  ScriptedPeer peer(with_user_timeout());
  establish_and_wait_for_window(peer);
  peer.acknowledge(0, 0);
  peer.advance(10s);
  REQUIRE(peer.sent() == "A 0 ack 1");
  REQUIRE(peer.state() == State::established);
  SECTION("and one that answers is waited for") {
    peer.acknowledge(0, 1000);
    REQUIRE(peer.sent() == "PA 1:101 ack 1");
  }
  SECTION("and one that does not is given up then") {
    peer.run(3s);
    REQUIRE(peer.connection().error() == ConnectionError::timed_out);
  }
}

TEST_CASE("a process that was stopped while a small window is left uses it") {
  ScriptedPeer peer(with_user_timeout());
  peer.establish();
  peer.acknowledge(0, 500);
  peer.write(800);
  REQUIRE(peer.sent().empty());
  peer.advance(10s);
  REQUIRE(peer.sent() == "A 1:501 ack 1");
  peer.run(2999ms);
  REQUIRE(peer.state() == State::established);
  peer.run(1ms);
  REQUIRE(peer.connection().error() == ConnectionError::timed_out);
}

TEST_CASE("writing into a closed window after a long rest does not end the connection") {
  Options options = ScriptedPeer::plain();
  options.user_timeout = 3s;
  ScriptedPeer peer(options);
  peer.establish();
  peer.acknowledge(0, 0);
  peer.run(60s);
  peer.write(100);
  peer.sent();
  peer.run(2s);
  REQUIRE(peer.state() == State::established);
}

TEST_CASE("a window that is taken back with data in flight is waited for, if the peer answers") {
  ScriptedPeer peer(with_user_timeout());
  peer.establish();
  peer.write(100);
  REQUIRE(peer.sent() == "PA 1:101 ack 1");
  peer.acknowledge(0, 0);
  for (int i = 0; i < 30; ++i) {
    REQUIRE_FALSE(peer.run(2s).empty());  // retransmissions are the probes
    peer.acknowledge(0, 0);
  }
  REQUIRE(peer.state() == State::established);

  SECTION("and when it opens, the user time-out begins anew") {
    peer.acknowledge(0, 60000);
    peer.run(2999ms);
    REQUIRE(peer.state() == State::established);
    peer.run(1ms);
    REQUIRE(peer.connection().error() == ConnectionError::timed_out);
  }
  SECTION("but a peer that falls silent is given up") {
    peer.run(3s);
    REQUIRE(peer.connection().error() == ConnectionError::timed_out);
  }
}

TEST_CASE("a delayed acknowledgement comes at its time, or with the second full segment") {
  Options options = ScriptedPeer::plain();
  options.delayed_ack = 10ms;
  ScriptedPeer peer(options);
  peer.establish();
  peer.hand(peer.segment(flag::ack, 1000));
  REQUIRE(peer.sent().empty());
  REQUIRE(peer.run(10ms) == "A 1 ack 1001");
  peer.hand(peer.segment(flag::ack, 1000));
  peer.hand(peer.segment(flag::ack, 1000));
  REQUIRE(peer.sent() == "A 1 ack 3001");
}

TEST_CASE("the acknowledgement of a little is held until the owner asks for it") {
  Options options = ScriptedPeer::plain();
  options.held_ack_bytes = 2500;
  ScriptedPeer peer(options);
  peer.establish();
  SECTION("which it does") {
    peer.hand(peer.segment(flag::ack, 1000));
    REQUIRE(peer.sent().empty());
    REQUIRE(peer.connection().holds_acknowledgement());
    peer.connection().acknowledge_at_once();
    REQUIRE(peer.sent() == "A 1 ack 1001");
    REQUIRE_FALSE(peer.connection().holds_acknowledgement());
    peer.connection().acknowledge_at_once();
    REQUIRE(peer.sent().empty());
  }
  SECTION("or there is more of it") {
    peer.hand(peer.segment(flag::ack, 1000));
    peer.hand(peer.segment(flag::ack, 1000));
    REQUIRE(peer.sent().empty());
    peer.hand(peer.segment(flag::ack, 1000));
    REQUIRE(peer.sent() == "A 1 ack 3001");
  }
  SECTION("or data go there") {
    peer.hand(peer.segment(flag::ack, 1000));
    peer.write(100);
    REQUIRE(peer.sent() == "PA 1:101 ack 1001");
    REQUIRE_FALSE(peer.connection().holds_acknowledgement());
  }
}

TEST_CASE("answers to probes of an idle connection do not shorten its peer's rest") {
  Options options = with_keepalive();
  options.initial_rto = options.min_rto = 5ms;
  options.max_peer_rest = 22ms;
  ScriptedPeer peer(options);
  establish_and_measure(peer);
  const Duration rto = peer.connection().info().rto;
  REQUIRE(peer.run(5s) == "A 100 ack 1");
  peer.acknowledge(100);
  peer.write(100);
  REQUIRE(peer.sent() == "PA 101:201 ack 1");
  REQUIRE(peer.run(rto + 21ms).empty());
  REQUIRE(peer.run(2ms) == "PA 101:201 ack 1");
}

TEST_CASE("what is sent after a pause may be acknowledged late, as the peer rests") {
  Options options = ScriptedPeer::plain();
  options.initial_rto = options.min_rto = 5ms;
  options.max_peer_rest = 22ms;
  ScriptedPeer peer(options);
  establish_and_measure(peer);
  const Duration srtt = peer.connection().info().srtt;
  const Duration rto = peer.connection().info().rto;
  const Duration pause = GENERATE(Duration(5ms), Duration(100ms), Duration(10s));
  peer.advance(pause);
  peer.write(100);
  REQUIRE(peer.sent() == "PA 101:201 ack 1");
  const Duration rest = pause == Duration(5ms) ? 0ms : pause == Duration(100ms) ? 10ms : 22ms;
  REQUIRE(peer.run(rto + rest - 1ms).empty());
  SECTION("it is sent again then") { REQUIRE(peer.run(2ms) == "PA 101:201 ack 1"); }
  SECTION("and how late says nothing of the path") {
    peer.ts_ecr = peer.ts_ecr + static_cast<std::uint32_t>(pause.count() / 1'000'000);
    peer.acknowledge(200);
    CHECK((peer.connection().info().srtt == srtt) == (rest > 0ms));
  }
}
