// RFC 5682: time-outs that were spurious.
#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"
#include "transport/tcp/stack/undo.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

namespace {

// A time-out with five segments in flight, and more to send.
struct TimedOut {
  explicit TimedOut(bool sack, std::uint32_t unsent = 10'000) : peer(options(sack)) {
    peer.establish();
    peer.acknowledge(0, 5000);
    peer.write(5000 + unsent);
    peer.sent();
    REQUIRE(peer.connection().info().flight == 5000);
    while (peer.connection().info().timeouts == 0) {
      peer.run(peer.connection().next_deadline() - peer.now());
    }
    REQUIRE(peer.connection().info().cwnd == 1000);
  }
  static Options options(bool sack) {
    Options options = ScriptedPeer::plain();
    options.sack = sack;
    return options;
  }
  ScriptedPeer peer;
};

}  // namespace

TEST_CASE("originals that were only late undo the time-out, and are not repeated") {
  const bool sack = GENERATE(false, true);
  TimedOut timed_out(sack);
  ScriptedPeer& peer = timed_out.peer;
  peer.acknowledge(1000);
  REQUIRE(peer.sent() == "A 5001:6001 ack 1, A 6001:7001 ack 1");
  peer.acknowledge(2000);
  REQUIRE(peer.connection().info().undone == 1);
  REQUIRE(peer.connection().info().cwnd >= 10'000);
  const std::string more = peer.sent();
  REQUIRE(more.substr(0, 16) == "A 7001:8001 ack ");
  REQUIRE(peer.connection().info().bytes_retransmitted <= 2000);  // and the tail's probe
}

TEST_CASE("a duplicate after the repetition means that something was lost") {
  const bool sack = GENERATE(false, true);
  TimedOut timed_out(sack);
  ScriptedPeer& peer = timed_out.peer;
  SECTION("at once") {
    sack ? peer.report(0, {{2000, 3000}}) : peer.acknowledge(0, 5000);
    peer.acknowledge(1000);
    REQUIRE(peer.sent().substr(0, 18) == "A 1001:2001 ack 1,");
  }
  SECTION("after the new data") {
    peer.acknowledge(1000);
    REQUIRE(peer.sent() == "A 5001:6001 ack 1, A 6001:7001 ack 1");
    sack ? peer.report(1000, {{5000, 6000}}) : peer.acknowledge(1000);
    REQUIRE(peer.sent().substr(0, 11) == "A 1001:2001");
  }
  REQUIRE(peer.connection().info().undone == 0);
}

TEST_CASE("with nothing new to send the recovery is an ordinary one") {
  TimedOut timed_out(/*sack=*/true, /*unsent=*/0);
  ScriptedPeer& peer = timed_out.peer;
  peer.acknowledge(1000);
  REQUIRE(peer.sent().substr(0, 18) == "A 1001:2001 ack 1,");
}

TEST_CASE("a second time-out for the same data is believed") {
  TimedOut timed_out(/*sack=*/false);
  ScriptedPeer& peer = timed_out.peer;
  peer.run(400ms);
  REQUIRE(peer.connection().info().timeouts == 2);
  peer.acknowledge(1000);
  REQUIRE(peer.sent() == "A 1001:2001 ack 1, A 2001:3001 ack 1");
}
