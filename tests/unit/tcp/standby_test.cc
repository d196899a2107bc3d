// Routes of a higher class: they carry only while no route below them does.
#include <catch2/catch.hpp>

#include "tests/unit/tcp/comm_pair.h"

using namespace tfabric;
using namespace tfabric::tcp;
using namespace tfabric::tcp::test;
using namespace std::chrono_literals;
using Catch::Contains;
using State = CutWire::State;

namespace {

constexpr Ranks kWithLifeboat{RouteClass::own, RouteClass::lifeboat};

}  // namespace

TEST_CASE("a standby route has no lane while the first one works") {
  World world({.piece_bytes = 4096, .connect_timeout = 8s});
  Pair pair(world, {}, kWithLifeboat);
  for (int i = 0; i < 20; ++i) {
    pair.exchange(300'000);
  }
  CHECK(pair.send->lanes({0}) == 1);
  CHECK(pair.send->lanes({1}) == 0);
  CHECK(pair.send->counters().joined == 0);
}

TEST_CASE("a standby route takes over when the first one is lost, and rests when it is back") {
  const auto state = GENERATE(State::no_link, State::swallows);
  World world({.piece_bytes = 4096, .connect_timeout = 8s, .outage = 60s});
  Pair pair(world, {}, kWithLifeboat);
  pair.exchange(1'000'000);
  for (int round = 0; round < 2; ++round) {
    world.cut(0, state);
    const Instant begin = monotonic_now();
    pair.exchange(1'000'000);
    CHECK(monotonic_now() - begin < 10s);  // no time-out of a connection
    CHECK(pair.send->lanes({1}) == 1);
    world.cut(0, State::whole);
    pair.exchange(1'000'000);
    REQUIRE(world.until([&] { return pair.send->lanes({0}) == 1 && pair.send->lanes({1}) == 0; }));
    pair.exchange(1'000'000);
    CHECK(pair.send->lanes({1}) == 0);
  }
  CHECK(pair.send->counters().buried >= 2);
  CHECK_FALSE(pair.receive->failed());
}

TEST_CASE("a comm starts over a standby route if the first one does not answer") {
  const auto state = GENERATE(State::no_link, State::swallows);
  World world({.piece_bytes = 4096, .connect_timeout = 400ms, .outage = 60s});
  world.cut(0, state);
  Pair pair(world, {}, kWithLifeboat);
  pair.exchange(1'000'000);
  CHECK(pair.send->lanes({1}) == 1);
  world.cut(0, State::whole);
  REQUIRE(world.until([&] { return pair.send->lanes({0}) == 1 && pair.send->lanes({1}) == 0; }));
  pair.exchange(1'000'000);
}

TEST_CASE("a standby route that is lost is tried again, and the comm fails when nothing is left") {
  engine::EngineOptions quick;
  quick.tcp.user_timeout = 300ms;
  World world({.piece_bytes = 4096, .connect_timeout = 8s, .outage = 300ms}, quick);
  Pair pair(world, {}, kWithLifeboat);
  world.cut(0, State::no_link);
  pair.exchange(100'000);
  world.cut(1, State::no_link);
  world.cut(1, State::whole);
  pair.exchange(100'000);
  world.cut(1, State::swallows);
  Pair::Message& message = pair.message(100'000);
  pair.post_receive(message);
  pair.post_send(message);
  REQUIRE(world.until([&] { return pair.send->failed() && pair.receive->failed(); }));
  CHECK(pair.send->error().code == Errc::remote);
}
