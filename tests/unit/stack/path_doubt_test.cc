// When a connection doubts that its segments reach the peer, and what it takes for a proof that they do.
#include "transport/tcp/stack/path_doubt.h"

#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

Options impatient() {
  Options options = ScriptedPeer::plain();
  options.initial_rto = options.min_rto = 100ms;
  options.max_rto = 2s;
  return options;
}

}  // namespace

TEST_CASE("three signs in a row without progress are a doubt, which is reported once") {
  PathDoubt doubt;
  const Instant start{1h};
  doubt.on_progress(start);
  doubt.on_sign(start + 1s);
  doubt.on_sign(start + 2s);
  REQUIRE_FALSE(doubt.take());
  doubt.on_sign(start + 3s);
  REQUIRE(doubt.take());
  REQUIRE_FALSE(doubt.take());
  doubt.on_sign(start + 4s);
  REQUIRE(doubt.take());
  doubt.on_progress(start + 5s);
  doubt.on_sign(start + 6s);
  doubt.on_sign(start + 7s);
  REQUIRE_FALSE(doubt.take());
  REQUIRE(doubt.progress() == start + 5s);
}

TEST_CASE("signs of one burst count once") {
  PathDoubt doubt;
  const Instant start{1h};
  for (int i = 0; i < 100; ++i) {
    doubt.on_sign(start);
  }
  REQUIRE_FALSE(doubt.take());
}

TEST_CASE("data that times out three times is a doubt, and each time-out after that") {
  ScriptedPeer peer(impatient());
  peer.establish();
  REQUIRE(peer.connection().progressed_at() == peer.now());
  peer.write(100);
  REQUIRE(peer.sent() == "PA 1:101 ack 1");
  peer.run(100ms + 200ms);
  REQUIRE_FALSE(peer.connection().take_path_doubt());
  peer.run(400ms);
  REQUIRE(peer.connection().take_path_doubt());
  REQUIRE_FALSE(peer.connection().take_path_doubt());
  peer.run(800ms);
  REQUIRE(peer.connection().take_path_doubt());
  peer.acknowledge(100);
  REQUIRE(peer.connection().progressed_at() == peer.now());
  peer.write(100);
  peer.run(300ms);
  REQUIRE_FALSE(peer.connection().take_path_doubt());
}

TEST_CASE("a SYN that times out three times is a doubt") {
  ScriptedPeer peer(impatient());
  peer.connect();
  REQUIRE(peer.sent() == "S 0");
  peer.run(100ms + 200ms);
  REQUIRE_FALSE(peer.connection().take_path_doubt());
  peer.run(400ms);
  REQUIRE(peer.connection().take_path_doubt());
  REQUIRE(peer.connection().progressed_at() == Instant{});
}

TEST_CASE("a peer that repeats what has arrived does not get our acknowledgements: a doubt") {
  ScriptedPeer peer(impatient());
  peer.establish();
  const bool fin = GENERATE(true, false);
  const SegmentIn data = peer.segment(fin ? flag::ack | flag::fin : flag::ack, fin ? 0 : 100);
  peer.hand(data);
  for (int i = 0; i < 2; ++i) {
    peer.advance(100ms);
    for (int burst = 0; burst < 10; ++burst) {
      peer.hand(data);
    }
    REQUIRE_FALSE(peer.connection().take_path_doubt());
  }
  peer.advance(100ms);
  peer.hand(data);
  REQUIRE(peer.connection().take_path_doubt());
}

TEST_CASE("a peer that repeats some segments and goes on is no doubt") {
  ScriptedPeer peer(impatient());
  peer.establish();
  for (int i = 0; i < 10; ++i) {
    const SegmentIn data = peer.segment(flag::ack, 100);
    peer.hand(data);
    REQUIRE(peer.connection().progressed_at() == peer.now());
    for (int copy = 0; copy < 2; ++copy) {
      peer.advance(1ms);
      peer.hand(data);
    }
    peer.advance(1ms);
    peer.sent();
  }
  REQUIRE_FALSE(peer.connection().take_path_doubt());
}

TEST_CASE("a peer's keep-alive probes and bytes out of order are neither progress nor a doubt") {
  ScriptedPeer peer(impatient());
  peer.establish();
  const Instant established = peer.now();
  for (int i = 0; i < 10; ++i) {
    peer.advance(1s);
    SegmentIn probe = peer.segment();
    probe.seq = probe.seq - 1u;
    peer.hand(probe);
    SegmentIn ahead = peer.segment(flag::ack, 100);
    ahead.seq = ahead.seq + 1000;
    peer.hand(ahead);
    peer.sent();
  }
  REQUIRE_FALSE(peer.connection().take_path_doubt());
  REQUIRE(peer.connection().progressed_at() == established);
}

TEST_CASE("a keep-alive probe without an answer is a doubt, though the peer's own probes arrive") {
  Options options = ScriptedPeer::plain();
  options.keepalive_idle = 5s;
  options.keepalive_interval = 1s;
  options.keepalive_probes = 5;
  ScriptedPeer peer(options);
  peer.establish();
  const bool answers = GENERATE(true, false);
  for (int i = 0; i < 30; ++i) {
    if (!peer.run(1s).empty() && answers) {
      peer.hand(peer.segment());
    }
    if (!answers) {
      SegmentIn probe = peer.segment();
      probe.seq = probe.seq - 1u;
      peer.hand(probe);
      peer.sent();
    }
    if (i < 5 || answers) {
      REQUIRE_FALSE(peer.connection().take_path_doubt());
    }
  }
  REQUIRE(peer.connection().take_path_doubt() == !answers);
  REQUIRE(peer.connection().error() == ConnectionError::none);
}

TEST_CASE("probes of a closed window without an answer are a doubt, answered ones are not") {
  ScriptedPeer peer(impatient());
  peer.establish();
  peer.acknowledge(0, 0);
  peer.write(100);
  REQUIRE(peer.sent().empty());
  const bool answers = GENERATE(true, false);
  for (int i = 0; i < 100; ++i) {
    if (!peer.run(100ms).empty() && answers) {
      peer.acknowledge(0, 0);
    }
  }
  REQUIRE(peer.connection().take_path_doubt() == !answers);
}
