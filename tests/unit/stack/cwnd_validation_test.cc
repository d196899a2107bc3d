// RFC 7661: a window that is not in use does not grow.
#include "transport/tcp/stack/cwnd_validation.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

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
  REQUIRE(validation.validated(0, 19'999));
  REQUIRE_FALSE(validation.validated(0, 20'000));
  REQUIRE(validation.validated(15'001, 30'000));
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

TEST_CASE("slow start makes twice of what was in use, in whatever steps it is acknowledged") {
  ScriptedPeer peer(ScriptedPeer::plain());
  peer.establish();
  const auto windows = [&](std::uint32_t bytes) {
    peer.write(bytes);
    peer.sent();
    std::vector<std::uint32_t> result;
    for (std::uint32_t acked = 0; acked < bytes;) {
      acked = std::min(acked + 2000, bytes);
      peer.acknowledge(acked);
      result.push_back(peer.connection().info().cwnd);
    }
    return result;
  };
  using Windows = std::vector<std::uint32_t>;

  SECTION("all of it") { REQUIRE(windows(10'000) == Windows{12'000, 14'000, 16'000, 18'000, 20'000}); }
  SECTION("most of it") { REQUIRE(windows(9'000) == Windows{12'000, 14'000, 16'000, 18'000, 18'000}); }
  SECTION("half of it") { REQUIRE(windows(5'000) == Windows{10'000, 10'000, 10'000}); }
}
