// Routes of a higher class: they carry only while no route below them does.
#include <catch2/catch.hpp>

#include "tests/captured_log.h"
#include "tests/unit/tcp/comm_pair.h"

using namespace tfabric;
using namespace tfabric::session;
using namespace tfabric::comm::test;
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
  link::Options quick;
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

TEST_CASE("a comm that has nothing better than a life-boat from the start says that it is slow") {
  const tfabric::test::CapturedLog log;
  World world({.piece_bytes = 4096});
  Pair pair(world, {}, {RouteClass::lifeboat, RouteClass::lifeboat});
  pair.exchange(100'000);
  CHECK(log.count("carries from the start, as a life-boat, which is slow") == 1);
}

TEST_CASE("a rail that has no partner on the other host is no rail that is lost, until it has met one") {
  const bool has_partner = GENERATE(false, true);
  const tfabric::test::CapturedLog log;
  World world({.piece_bytes = 4096, .connect_timeout = 8s, .outage = 60s}, [] {
    link::Options options;
    options.tcp.connect_timeout = 200ms;
    return options;
  }());
  if (!has_partner) {
    world.cut(1, State::swallows);
  }
  const Hello hello{.token = world.token, .comm = random_u64(), .serial = {}, .witness = {}};
  const auto send =
      open_send(world, hello, world.context.options.max_recvs, kBothOwn, nullptr, /*spare=*/true);
  REQUIRE(world.until([&] { return send->welcomed() && (!has_partner || send->counters().joined == 1); }));
  if (has_partner) {
    world.cut(1, State::no_link);
    REQUIRE(world.until([&] { return log.count("messages go on over the others") == 1; }));
    CHECK(log.count("one has more rails than the other") == 0);
  } else {
    REQUIRE(world.until([&] { return send->counters().refused >= 3; }));
    CHECK(log.count("one has more rails than the other, and these two do not meet") == 1);
    CHECK(log.count("messages go on over the others") == 0);
  }
}
