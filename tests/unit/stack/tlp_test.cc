// RFC 8985 §7: the tail loss probe.
#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"
#include "transport/tcp/stack/rack.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

// Five segments in flight on a path of one millisecond, with a floor of the time-out far above.
struct Tail {
  explicit Tail(bool timestamps = false) : peer(options(timestamps)), piece(timestamps ? 988 : 1000) {
    peer.establish();
    peer.write(piece);
    peer.sent();
    peer.advance(1ms);
    peer.ts_ecr = 3'600'000;
    peer.acknowledge(piece);
    peer.write(5 * piece);
    peer.sent();
  }
  static Options options(bool timestamps) {
    Options options = ScriptedPeer::plain();
    options.sack = true;
    options.timestamps = timestamps;
    options.min_rto = 200ms;
    return options;
  }
  ScriptedPeer peer;
  std::uint32_t piece;  // the data of a segment
};

}  // namespace

TEST_CASE("the loss of the last segments is found within two round trips and the answer to a probe") {
  Tail tail;
  ScriptedPeer& peer = tail.peer;
  REQUIRE(peer.run(1999us).empty());
  REQUIRE(peer.run(1us) == "PA 5001:6001 ack 1");
  peer.advance(1ms);
  peer.report(3000, {{5000, 6000}});
  REQUIRE(peer.sent() == "A 3001:4001 ack 1, A 4001:5001 ack 1");
  REQUIRE(peer.connection().info().timeouts == 0);
  REQUIRE(peer.connection().info().tail_probes == 1);
}

// Seed 28813 of the simulation of rails: the peer's timestamp is that of what came before the hole, so that
// the answer to the probe was taken for one to the original, and the loss was found by a time-out.
TEST_CASE("the same where timestamps are in use") {
  Tail tail(/*timestamps=*/true);
  ScriptedPeer& peer = tail.peer;
  REQUIRE(peer.run(2ms) == "PA 4941:5929 ack 1");
  peer.ts_ecr = 3'600'001;
  peer.advance(1ms);
  peer.report(3 * tail.piece, {{5 * tail.piece, 6 * tail.piece}});
  REQUIRE(peer.sent() == "A 2965:3953 ack 1, A 3953:4941 ack 1");
  REQUIRE(peer.connection().info().timeouts == 0);
}

TEST_CASE("a probe is new data if there is any, whatever the congestion window") {
  Tail tail;
  ScriptedPeer& peer = tail.peer;
  peer.write(40'000);
  peer.sent();
  const std::uint32_t flight = peer.connection().info().flight;
  REQUIRE(flight < 41'000);
  peer.run(2ms);
  REQUIRE(peer.connection().info().flight == flight + 1000);
  REQUIRE(peer.connection().info().bytes_retransmitted == 0);
}

TEST_CASE("a probe that was due, but is needless by now, is not sent") {
  Tail tail;
  ScriptedPeer& peer = tail.peer;
  peer.advance(2ms);
  SECTION("the last segment has been reported") {
    peer.report(1000, {{5000, 6000}});
    REQUIRE(peer.sent().empty());
  }
  SECTION("everything has been acknowledged") {
    peer.acknowledge(6000);
    peer.write(1000);
    REQUIRE(peer.sent() == "PA 6001:7001 ack 1");
    REQUIRE(peer.connection().info().flight == 1000);
  }
  REQUIRE(peer.connection().info().tail_probes == 0);
}

TEST_CASE("there is one probe until it is answered, then the time-out") {
  Tail tail;
  ScriptedPeer& peer = tail.peer;
  REQUIRE(peer.run(2ms) == "PA 5001:6001 ack 1");
  REQUIRE(peer.run(199ms).empty());
  REQUIRE(peer.run(1ms) == "A 1001:2001 ack 1");
}

TEST_CASE("the window shrinks if the probe has repaired a loss, and only then") {
  Tail tail;
  ScriptedPeer& peer = tail.peer;
  const std::uint32_t cwnd = peer.connection().info().cwnd;
  REQUIRE(peer.run(2ms) == "PA 5001:6001 ack 1");
  SECTION("what follows the probe is acknowledged, nothing was reported twice") {
    peer.write(1000);
    peer.sent();
    peer.advance(1ms);
    peer.acknowledge(7000);
    REQUIRE(peer.connection().info().cwnd < cwnd);
  }
  SECTION("a D-SACK tells that the probe was needless") {
    peer.report(6000, {{5000, 6000}});
    peer.write(1000);
    peer.sent();
    peer.advance(1ms);
    peer.acknowledge(7000);
    REQUIRE(peer.connection().info().cwnd >= cwnd);
    REQUIRE(peer.connection().info().reo_wnd_mult == 1);  // it was no reordering either
  }
  SECTION("a duplicate acknowledgement without SACK tells it as well") {
    peer.acknowledge(6000);
    peer.write(1000);
    peer.sent();
    peer.acknowledge(6000);
    peer.advance(1ms);
    peer.acknowledge(7000);
    REQUIRE(peer.connection().info().cwnd >= cwnd);
  }
}

TEST_CASE("one segment alone waits for the peer's delayed acknowledgement too") {
  REQUIRE(Tlp::pto(10ms, /*alone=*/false, 5ms) == 20ms);
  REQUIRE(Tlp::pto(10ms, /*alone=*/true, 5ms) == 25ms);
  REQUIRE(Tlp::pto(Duration::zero(), /*alone=*/true, 5ms) == 1s);
}
