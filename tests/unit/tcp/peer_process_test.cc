// Comms whose peer's process ends, or is stopped, as the witness sees it.
#include <catch2/catch.hpp>

#include "tests/unit/tcp/comm_pair.h"

using namespace tfabric;
using namespace tfabric::comm;
using namespace tfabric::session;
using namespace tfabric::comm::test;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

std::unique_ptr<witness::Witness> witness_of(std::int32_t rank) {
  const config::IpBytes loopback = config::mapped(std::array<std::uint8_t, 4>{127, 0, 0, 1});
  auto opened = witness::Witness::open(
      {.address = loopback, .self = {.rank = rank, .pid = 4242, .host = "gpu2"}, .patience = "300 s"});
  REQUIRE(opened.ok());
  return std::move(*opened);
}

// A pair of comms both of whose ends believe that the other one is in the process `other`.
struct WitnessedPair {
  explicit WitnessedPair(const CommOptions& options, const link::Options& tcp_options = {})
      : world(options, tcp_options) {
    {
      const engine::Guard guard(world.engine.lock());
      world.peers.processes.use(*own, world.engine);
      world.acceptor.set_witness(other->contact());
    }
    pair = std::make_unique<Pair>(world, other->contact());
    REQUIRE(until([&] { return to_other->view() == witness::View::alive; }));
  }
  // While the other process runs.
  template <class Done>
  bool until(const Done& done) {
    return world.until([&] {
      other->poll(monotonic_now());
      return done();
    });
  }
  void cut(CutWire::State state) {
    world.cut(0, state);
    world.cut(1, state);
  }
  [[nodiscard]] bool any_failed() const { return pair->send->failed() || pair->receive->failed(); }

  std::unique_ptr<witness::Witness> own = witness_of(3), other = witness_of(7);
  std::shared_ptr<witness::Peer> to_other = own->meet(other->contact());
  std::shared_ptr<witness::Peer> from_other = other->meet(own->contact());
  World world;
  std::unique_ptr<Pair> pair;
};

link::Options quick_to_time_out() {
  link::Options options;
  options.tcp.user_timeout = options.tcp.connect_timeout = 30ms;
  options.tcp.keepalive_idle = 20ms;
  options.tcp.keepalive_interval = 5ms;
  return options;
}

}  // namespace

TEST_CASE("the end of the peer's process fails its comms, with an error that names it") {
  WitnessedPair both({.outage = 600s});
  both.pair->exchange(100'000);
  both.cut(CutWire::State::swallows);
  both.pair->post_receive(both.pair->message(1000));
  both.other.reset();
  REQUIRE(both.world.until([&] { return both.pair->send->failed() && both.pair->receive->failed(); }));
  const std::string expected =
      "the peer's process (rank 7, pid 4242 on gpu2) has ended without closing its communicators";
  CHECK(both.pair->send->error().message == expected);
  CHECK(both.pair->receive->error().message == expected);
}

TEST_CASE("what has come before the end of the peer's process still comes out") {
  WitnessedPair both({.outage = 600s});
  Pair::Message& early = both.pair->message(1000);
  both.pair->post_send(early);
  REQUIRE(
      both.until([&] { return early.out->test(nullptr).ok() && both.pair->send->counters().joined > 0; }));
  early.out = nullptr;
  REQUIRE(both.until([&] { return !both.pair->send->owes(); }));
  REQUIRE(both.until([&] { return both.to_other->view() == witness::View::alive; }));
  both.cut(CutWire::State::swallows);
  both.other.reset();
  REQUIRE(both.world.until([&] { return both.to_other->view() == witness::View::ended; }));
  REQUIRE(both.world.until([&] { return both.pair->send->failed(); }));
  CHECK_FALSE(both.pair->receive->failed());
  both.pair->post_receive(early);
  both.pair->finish(early);
}

// Both ends of the lanes are in this process, and go on to answer.
TEST_CASE("a peer that answers over its lanes has not ended, whatever the witness's connection says") {
  WitnessedPair both({.outage = 600s});
  both.pair->exchange(100'000);
  both.other.reset();
  REQUIRE(
      both.world.until([&] { return both.to_other->view() == witness::View::lost || both.any_failed(); }));
  CHECK_FALSE(both.any_failed());
  both.pair->exchange(100'000);
}

TEST_CASE("a peer that has closed its comm may end") {
  WitnessedPair both({.outage = 600s});
  both.pair->exchange(1000);
  both.pair->send.reset();
  REQUIRE(both.until([&] {
    return both.world.peers.comms.find({token_id(both.world.token), both.pair->hello.comm});
  }));
  both.other.reset();
  REQUIRE(both.world.until([&] { return both.to_other->view() == witness::View::ended; }));
  both.pair->post_receive(both.pair->message(1000));
  REQUIRE(both.world.until([&] { return both.pair->receive->failed(); }));
  CHECK(both.pair->receive->error().message == "the peer closed its communicator");
}

TEST_CASE("a peer that is stopped is waited for, and goes on") {
  WitnessedPair both({.piece_bytes = 4096, .outage = 200ms, .frozen = 600s}, quick_to_time_out());
  both.pair->exchange(100'000);
  Pair::Message& message = both.pair->message(1'000'000);
  both.pair->post_receive(message);
  both.pair->post_send(message);
  both.cut(CutWire::State::swallows);
  REQUIRE(
      both.world.until([&] { return both.to_other->view() == witness::View::stopped || both.any_failed(); }));
  const Instant stopped = monotonic_now();
  REQUIRE(both.world.until([&] { return monotonic_now() - stopped > 1s || both.any_failed(); }));
  CHECK_FALSE(both.any_failed());
  both.cut(CutWire::State::whole);
  both.other->poll(monotonic_now());
  both.pair->finish(message);
  both.pair->exchange(100'000);
}

TEST_CASE("a peer that stays stopped is given up in the end, with the reason") {
  WitnessedPair both({.piece_bytes = 4096, .outage = 200ms, .frozen = 2s}, quick_to_time_out());
  both.pair->exchange(100'000);
  both.pair->post_send(both.pair->message(1'000'000));
  both.cut(CutWire::State::swallows);
  REQUIRE(both.world.until([&] { return both.pair->send->failed(); }));
  CHECK_THAT(both.pair->send->error().message,
             Contains("the peer's process has been stopped for") && Contains("tcp.frozen_timeout_ms"));
}

TEST_CASE("a peer that runs and cannot be reached is given up as without a witness") {
  WitnessedPair both({.piece_bytes = 4096, .outage = 400ms, .frozen = 600s}, quick_to_time_out());
  both.pair->post_send(both.pair->message(1'000'000));
  both.cut(CutWire::State::swallows);
  REQUIRE(both.until([&] { return both.pair->send->failed() && both.pair->receive->failed(); }));
  CHECK_THAT(both.pair->send->error().message, Contains("tcp.user_timeout_ms"));
}

TEST_CASE("a process that did not run for longer than the limits gives no peer up when it runs again") {
  link::Options options;
  options.tcp.user_timeout = options.tcp.connect_timeout = 1s;
  World world({.piece_bytes = 4096, .outage = 1s}, options);
  Pair pair(world);
  pair.exchange(1'000'000);
  Pair::Message& message = pair.message(3'000'000);
  pair.post_receive(message);
  pair.post_send(message);
  {
    const engine::Guard guard(world.engine.lock());  // no thread turns it
    world.engine.turn();
    const timespec pause{.tv_sec = 2, .tv_nsec = 0};
    nanosleep(&pause, nullptr);
  }
  pair.finish(message);
  CHECK(pair.send->counters().buried == 0);
}
