// Which lanes a comm takes for dead, in virtual time.
#include "transport/comm/suspicion.h"

#include <catch2/catch.hpp>

#include "tests/unit/comm/fake_lane.h"

using namespace tfabric;
using namespace tfabric::comm;
using namespace std::chrono_literals;
using test::FakeCarrier;
using test::FakeLane;

namespace {

// Three lanes that carry: two over one carrier, one over another.
struct Comm final : Suspicion::User {
  Comm() {
    for (FakeCarrier* carrier : {&one, &one, &other}) {
      auto made = std::make_unique<FakeLane>(*carrier);
      all.push_back(made.get());
      lanes
          .take(std::move(made), {static_cast<std::uint32_t>(all.size())}, "send",
                [](const lane::Lane&) { return true; })
          .join();
    }
  }
  void on_suspicion(const lane::Lane& lane, bool suspected) override {
    (suspected ? suspects : acquitted).push_back(lane.id().value);
  }
  void on_alone() override { ++alone; }
  void give_up(lane::Lane& lane, const Error& why) override {
    dead.push_back(lane.id().value);
    reason = why.message;
    suspicion.forget(lane);
    lane.abort();
  }
  // The lane has timed out so often in a row.
  void time_out(std::size_t lane, std::uint32_t times) {
    all[lane]->timeouts = times;
    suspicion.look(*all[lane], now);
  }
  // The peer has confirmed all that the lane was given.
  void confirm(std::size_t lane) {
    all[lane]->confirms = all[lane]->has_given;
    suspicion.look(*all[lane], now);
  }
  void run(Duration time, bool stopped = false) {
    for (const Instant end = now + time; now < end; now += 1ms) {
      suspicion.judge(now, stopped);
    }
  }

  FakeCarrier one{"eth0"}, other{"eth1"};
  Lanes lanes;
  std::vector<FakeLane*> all;
  Suspicion suspicion{*this, lanes};
  std::vector<std::size_t> suspects, acquitted, dead;
  std::string reason;
  int alone = 0;
  Instant now{1h};
};

}  // namespace

TEST_CASE("a lane is dead when a sister on another carrier has answered twice, and it has not") {
  Comm comm;
  comm.run(10ms);
  comm.time_out(0, stripe::Watch::kSuspected);
  CHECK(comm.suspects == std::vector<std::size_t>{0});
  CHECK(comm.suspicion.of(*comm.all[0]));
  comm.time_out(0, stripe::Watch::kAsked);
  CHECK(comm.all[1]->said.empty());  // its carrier is the suspect's
  REQUIRE(comm.all[2]->said == std::vector{lane::RecordType::ask});
  comm.run(100ms);
  CHECK(comm.dead.empty());  // no answer yet: the peer's process may be stopped
  comm.confirm(2);
  CHECK(comm.all[0]->retries == 1);
  comm.run(50ms);
  CHECK(comm.all[0]->retries == stripe::Watch::kTries);
  REQUIRE(comm.all[2]->said.size() == 2);
  CHECK(comm.dead.empty());
  comm.confirm(2);
  comm.run(50ms);
  CHECK(comm.dead == std::vector<std::size_t>{0});
  CHECK(comm.reason.find("while the peer answers over rail eth1") != std::string::npos);
  CHECK_FALSE(comm.suspicion.any());
}

TEST_CASE("a lane that gets on again is acquitted, and one of a process that is stopped waits") {
  Comm comm;
  comm.run(10ms);
  comm.time_out(0, stripe::Watch::kSuspected);
  comm.time_out(0, stripe::Watch::kAsked);
  comm.confirm(2);
  comm.run(10s, /*stopped=*/true);
  CHECK(comm.all[2]->said.size() == 1);
  CHECK(comm.dead.empty());
  comm.time_out(0, 0);
  CHECK(comm.acquitted == std::vector<std::size_t>{0});
  CHECK_FALSE(comm.suspicion.any());
}

TEST_CASE("nothing is found out about a lane without a sister on another carrier that has a link") {
  Comm comm;
  SECTION("it is away") { comm.other.away = comm.now; }
  SECTION("it has ended") { comm.all[2]->close(); }
  comm.time_out(0, stripe::Watch::kSuspected);
  CHECK(comm.alone == 1);
  CHECK_FALSE(comm.suspicion.any());
}

TEST_CASE("records go over a lane with a link that is not suspected, while there is one") {
  Comm comm;
  CHECK(comm.suspicion.speaker() == comm.all[0]);
  comm.time_out(0, stripe::Watch::kSuspected);
  CHECK(comm.suspicion.speaker() == comm.all[1]);
  comm.one.away = comm.now;
  CHECK(comm.suspicion.speaker() == comm.all[2]);
  comm.all[2]->close();
  CHECK(comm.suspicion.speaker() != nullptr);
  comm.lanes.close();
  CHECK(comm.suspicion.speaker() == nullptr);
}

TEST_CASE("a number is used again when its lane has ended and nothing is left of it") {
  Comm comm;
  bool free = false;
  const auto take = [&] {
    return comm.lanes
        .take(std::make_unique<FakeLane>(comm.one), {9}, "send", [&](const lane::Lane&) { return free; })
        .id()
        .value;
  };
  CHECK(take() == 3);
  comm.all[1]->close();
  CHECK(take() == 4);
  free = true;
  CHECK(take() == 1);
  CHECK(comm.lanes.open() == 5);
  CHECK(comm.lanes.find({9})->name() == "send lane over rail eth0");
  CHECK(comm.lanes.find({2}) == nullptr);
}

TEST_CASE("a lane whose peer has not shown the token is reset without a reason") {
  Comm comm;
  auto opening = std::make_unique<FakeLane>(comm.one);
  const FakeLane& stranger = *opening;
  comm.lanes.take(std::move(opening), {9}, "send", [](const lane::Lane&) { return true; });
  comm.lanes.tell_all(lane::encode_record(lane::RecordType::goodbye, {}));
  comm.lanes.abort("a reason");
  CHECK(stranger.said.empty());
  CHECK(stranger.aborted == "");
  CHECK(comm.all[0]->said == std::vector{lane::RecordType::goodbye});
  CHECK(comm.all[0]->aborted == "a reason");
}

TEST_CASE("records wait for room, in their order, and a question is asked once for each doubt") {
  FakeCarrier carrier("eth0");
  FakeLane lane(carrier);
  lane.has_room = false;
  lane.tell(lane::encode_serial(lane::RecordType::bury, {1}));
  lane.tell(lane::encode_serial(lane::RecordType::settled, {1}));
  CHECK(lane.has_waiting());
  CHECK_FALSE(lane.ask(1));
  lane.has_room = true;
  lane.tell_waiting();
  CHECK(lane.said == std::vector{lane::RecordType::bury, lane::RecordType::settled});
  CHECK_FALSE(lane.ask(1));
  CHECK_FALSE(lane.ask(1));
  CHECK(lane.said.size() == 3);
  lane.confirms = lane.has_given;
  CHECK(lane.ask(1));
  CHECK_FALSE(lane.ask(2));
  CHECK(lane.said.size() == 4);
}
