// RFC 7661: a window that is not in use does not grow.
#include "transport/tcp/stack/cwnd_validation.h"

#include <catch2/catch.hpp>

#include "tests/unit/stack/scripted_peer.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace tfabric::stack::test;

TEST_CASE("pipeACK is the volume of a round trip, and is forgotten after the sampling period") {
  CwndValidation validation;
  Instant now{1h};
  validation.on_ack(0, 1000, 10'000, 1ms, now);
  REQUIRE(validation.pipe_ack() == 0);
  validation.on_ack(1000, 10'000, 10'000, 1ms, now);
  REQUIRE(validation.pipe_ack() == 10'000);
  REQUIRE(validation.validated(0, 20'000));
  REQUIRE_FALSE(validation.validated(0, 20'001));
  REQUIRE(validation.validated(15'000, 30'000));
  validation.on_idle();
  for (std::uint64_t una = 10'000; una < 13'000; una += 1000) {
    now += 600ms;
    validation.on_ack(una, una + 1000, una + 1000, 1ms, now);
  }
  REQUIRE(validation.pipe_ack() == 1000);
}

TEST_CASE("an application that sends little does not make the window grow") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  for (std::uint32_t sent = 0; sent < 100'000; sent += 2000) {
    peer.write(2000);
    REQUIRE_FALSE(peer.sent().empty());
    peer.advance(1ms);
    peer.acknowledge(sent + 2000);
  }
  REQUIRE(peer.connection().info().cwnd == 10'000);

  SECTION("and one that fills it does") {
    peer.write(60'000);
    peer.sent();
    peer.acknowledge(110'000);
    REQUIRE(peer.connection().info().cwnd == 20'000);
  }
}
