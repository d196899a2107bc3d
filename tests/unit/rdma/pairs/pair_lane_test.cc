// One lane over a pair: what each of its verbs does, without a comm.
#include "transport/rdma/pairs/pair_lane.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/lane/made_up_memory.h"
#include "tests/unit/rdma/pairs/pairs_ends.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::pairs;
using namespace tfabric::rdma::pairs::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

// One end's user, who connects it with the other as soon as it is made.
struct End final : lane::LaneEvents, lane::ControlSink {
  void on_progress(lane::Lane& /*lane*/) override { ++news; }
  void on_fault(lane::Lane& /*lane*/, const Error& why) override { fault = why.message; }
  void on_lost(lane::Lane& which) override TF_IN_TURN {
    lost = which.loss(true, MadeUpVerbs::now()).why;
    which.shut();
  }
  void on_fenced(lane::Lane& /*lane*/, std::uint64_t position) override { fenced = position; }
  Status on_control(const lane::RecordHeader& header, std::span<const std::byte> body) override {
    records.push_back({header.type, body.size()});
    return {};
  }

  Port port;
  std::unique_ptr<lane::OfferedLane> lane;
  std::string fault;
  std::optional<std::string> lost;
  std::optional<std::uint64_t> fenced;
  std::vector<std::pair<lane::RecordType, std::size_t>> records;
  int news = 0;
};

class TwoLanes {
 public:
  explicit TwoLanes(std::uint64_t routed = ~std::uint64_t{0}) : verbs(1), memory(1u << 20) {
    for (End* end : {&sender, &receiver}) {
      Port& port = end->port;
      port.context = &verbs.add_hca();
      port.pd.context = port.context;
      port.memory = verbs.verbs().reg_mr(&port.pd, memory.data(), memory.size(),
                                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
      auto control = std::make_unique<SlowControl>(SeededRandom(7));
      PortCarrier::Options options;
      Rail rail{.verbs = &verbs.verbs(), .context = port.context, .pd = &port.pd};
      rail.name = end == &sender ? "here:1" : "there:1";
      rail.max_message_bytes = 4096;
      port.way = std::make_unique<rdma::test::OneWay>(rail);
      options.ways = port.way.get();
      options.connection.now = MadeUpVerbs::now;
      options.connection.adaptive_routing_bytes = routed;
      options.control = std::move(control);
      options.memory = &port;
      port.carrier = std::make_unique<PortCarrier>(std::move(options));
    }
    registered.emplace(std::array{receiver.port.memory->rkey, 0u, 0u, 0u});
  }
  ~TwoLanes() {
    sender.lane.reset();
    receiver.lane.reset();
  }
  TwoLanes(const TwoLanes&) = delete;
  TwoLanes& operator=(const TwoLanes&) = delete;

  void make() TF_IN_TURN {
    sender.lane = sender.port.carrier->offer(announced, {}, -1);
    sender.lane->attach(sender, sender, nullptr);
    sender.lane->enter({0}, {1}, "send");
    REQUIRE(until([&] { return !sender.lane->text().empty() || sender.lost; }));
    if (sender.lost) {
      return;
    }
    auto taken = receiver.port.carrier->take_up(sender.lane->text(), announcer);
    REQUIRE(taken.ok());
    receiver.lane = std::move(*taken);
    receiver.lane->attach(receiver, receiver, &inbox);
    receiver.lane->enter({0}, {1}, "receive");
    announcer.begin(*receiver.lane);
  }
  void connect() TF_IN_TURN {
    make();
    REQUIRE(until([&] { return !receiver.lane->text().empty(); }));
    REQUIRE(sender.lane->on_answer(receiver.lane->text()).ok());
    REQUIRE(until([&] { return sender.lane->is_ready(); }));
    sender.lane->join();
    receiver.lane->join();
  }
  template <class Done>
  bool until(const Done& done, Duration within = 1s) TF_IN_TURN {
    const Instant limit = MadeUpVerbs::now() + within;
    Instant tick{};
    while (!done() && MadeUpVerbs::now() < limit) {
      verbs.run_until(MadeUpVerbs::now() + 10us);
      const bool ticks = MadeUpVerbs::now() - tick >= 1ms;
      for (End* end : {&sender, &receiver}) {
        end->port.carrier->receive(MadeUpVerbs::now());
        if (ticks) {
          end->port.carrier->on_time(MadeUpVerbs::now());
        }
      }
      tick = ticks ? MadeUpVerbs::now() : tick;
      speak();
    }
    return done();
  }
  void run_for(Duration time) TF_IN_TURN {
    const Instant end = MadeUpVerbs::now() + time;
    until([&] { return MadeUpVerbs::now() >= end; }, 2 * time);
  }
  // Posts a group of receives of so many bytes each, one behind the other from `offset` on.
  void post(std::size_t offset, std::vector<std::uint32_t> sizes, stripe::Completion& completion) {
    std::vector<transport::ReceiveBuffer> buffers;
    std::vector<lane::Announcer::Buffer> texts;
    for (const std::uint32_t size : sizes) {
      buffers.push_back({memory.data() + offset, size, 5, nullptr});
      texts.push_back({.address = reinterpret_cast<std::uint64_t>(memory.data() + offset),
                       .size = size,
                       .tag = 5,
                       .memory = &*registered});
      offset += size;
    }
    completion.count = static_cast<std::uint8_t>(sizes.size());
    const stripe::GroupId group = inbox.next_group();
    REQUIRE(inbox.post(buffers, &completion).ok());
    comm::test::post(announcer, group, texts);
  }
  // What comes once the group is announced.
  stripe::Outgoing message(std::size_t offset, std::uint32_t size, std::uint32_t group,
                           std::uint8_t index = 0) TF_IN_TURN {
    REQUIRE(until([&] {
      announced.next();
      return announced.find({group}, {index}, 0).has_value();
    }));
    return {.data = memory.data() + offset, .size = size, .tag = 5, .group = {group}, .index = {index}};
  }
  void give(const stripe::Outgoing& message, std::uint32_t offset, std::uint32_t length) TF_IN_TURN {
    REQUIRE(sender.lane->look(message).takes);
    REQUIRE(sender.lane->give({.message = &message, .offset = offset, .length = length}));
    sender.lane->flush();
  }

  MadeUpVerbs verbs;
  std::vector<std::byte> memory;
  lane::AnnouncedReceives announced;
  std::optional<comm::test::MadeUpMemory> registered;  // the receiver's
  lane::Announcer announcer;
  stripe::Inbox inbox;
  End sender, receiver;

 private:
  void speak() TF_IN_TURN {
    if (receiver.lane != nullptr && receiver.lane->carries()) {
      announcer.speak();
      receiver.lane->flush();
    }
  }
};

bool is_done(const stripe::Completion& completion) {
  return completion.state.load() == stripe::Completion::State::done;
}

}  // namespace

TEST_CASE("a group's messages come by their places, whole or in pieces, and larger ones in several writes") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes(GENERATE(std::uint64_t{1000}, ~std::uint64_t{0}));
  lanes.connect();
  for (std::size_t i = 0; i < 64u << 10; ++i) {
    lanes.memory[i] = static_cast<std::byte>(i * 7 + (i >> 8));
  }
  stripe::Completion group, single, empty;
  lanes.post(512u << 10, {300, 10'000, 0}, group);
  lanes.post(600u << 10, {20'000}, single);
  lanes.post(700u << 10, {0}, empty);
  lanes.give(lanes.message(300, 9'999, 0, 1), 0, 9'999);
  lanes.give(lanes.message(0, 300, 0, 0), 0, 300);
  lanes.give(lanes.message(0, 0, 0, 2), 0, 0);
  const stripe::Outgoing cut = lanes.message(20'000, 20'000, 1);
  lanes.give(cut, 12'800, 7'200);
  lanes.give(cut, 0, 12'800);
  lanes.give(lanes.message(0, 0, 2), 0, 0);
  REQUIRE(lanes.until([&] { return is_done(group) && is_done(single) && is_done(empty); }));
  CHECK(
      (group.sizes[0] == 300 && group.sizes[1] == 9'999 && group.sizes[2] == 0 && single.sizes[0] == 20'000));
  CHECK(std::memcmp(lanes.memory.data() + (512u << 10), lanes.memory.data(), 10'299) == 0);
  CHECK(std::memcmp(lanes.memory.data() + (600u << 10), lanes.memory.data() + 20'000, 20'000) == 0);
  REQUIRE(lanes.until([&] { return lanes.sender.lane->confirmed() == 5; }));
  CHECK(lanes.sender.lane->is_drained());
  CHECK(lanes.sender.lane->meters().delivered == 30'299);
  CHECK(lanes.verbs.violations().empty());
}

TEST_CASE("a lane is busy while completions are awaited, however short that is, and not longer") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  lanes.connect();
  Duration awaited{};
  for (std::uint32_t i = 0; i < 20; ++i) {
    stripe::Completion completion;
    lanes.post(512u << 10, {4000}, completion);
    lanes.run_for(3300us);
    const Instant from = MadeUpVerbs::now();
    lanes.give(lanes.message(0, 4000, i), 0, 4000);
    REQUIRE(lanes.until([&] { return lanes.sender.lane->confirmed() == i + 1; }));
    awaited += MadeUpVerbs::now() - from;
    REQUIRE(lanes.until([&] { return is_done(completion); }));
  }
  CHECK(awaited < 3ms);  // of 66, so that a tick finds it busy once or twice
  CHECK(lanes.sender.lane->meters().busy >= awaited / 2);
  CHECK(lanes.sender.lane->meters().busy <= awaited);
}

TEST_CASE("a message that is too large for its receive is reported, and not written") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  lanes.connect();
  stripe::Completion small;
  lanes.post(512u << 10, {100}, small);
  std::memset(lanes.memory.data(), 1, 200);
  lanes.give(lanes.message(0, 200, 0), 0, 200);
  REQUIRE(lanes.until([&] { return !lanes.receiver.fault.empty(); }));
  CHECK_THAT(lanes.receiver.fault,
             Contains("message truncated: 200 bytes arrived for a receive of 100 bytes"));
  CHECK(lanes.memory[512u << 10] == std::byte{0});
}

TEST_CASE("a lane takes nothing of a message whose receive is not announced") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  lanes.connect();
  const stripe::Outgoing early{.data = lanes.memory.data(), .size = 8, .tag = 5, .group = {0}, .index = {}};
  CHECK_FALSE(lanes.sender.lane->look(early).takes);
}

TEST_CASE("records go both ways, up to what a notice holds and the window takes") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  lanes.connect();
  const auto bury = lane::encode_serial(lane::RecordType::bury, {9});
  const auto buried = lane::encode_position(lane::RecordType::buried, {{9}, 77});
  REQUIRE(buried.size() == kMaxRecordBytes);
  CHECK(lanes.sender.lane->say(bury));
  CHECK_FALSE(lanes.sender.lane->say(std::vector<std::byte>(kMaxRecordBytes + 1)));
  std::uint32_t said = 0;
  while (said <= kBackWindow && lanes.receiver.lane->say(buried)) {
    ++said;
  }
  CHECK(said == kBackWindow);
  REQUIRE(
      lanes.until([&] { return lanes.sender.records.size() == said && !lanes.receiver.records.empty(); }));
  CHECK(lanes.receiver.records[0] ==
        std::pair(lane::RecordType::bury, bury.size() - lane::kRecordHeaderBytes));
  CHECK(lanes.sender.records.back().first == lane::RecordType::buried);
  // The sender has taken them, and says so.
  REQUIRE(lanes.until([&] { return lanes.receiver.lane->answered() == said; }));
  CHECK(lanes.receiver.lane->say(buried));
}

TEST_CASE("a question is answered by the peer's process, not by its adapter alone") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  lanes.connect();
  CHECK(lanes.sender.lane->say(lane::encode_record(lane::RecordType::ask, {})));
  lanes.verbs.run_until(MadeUpVerbs::now() + 5ms);
  lanes.sender.port.carrier->receive(MadeUpVerbs::now());
  CHECK(lanes.sender.lane->confirmed() == 1);
  CHECK(lanes.sender.lane->answered() == 0);
  REQUIRE(lanes.until([&] { return lanes.sender.lane->answered() == 1; }));
  // The peer's RDMA write causes no completion here; on_progress() is called at the next tick all the same.
  const int news = lanes.sender.news;
  REQUIRE(lanes.until([&] { return lanes.sender.news > news; }, 5ms));
}

TEST_CASE("silence is seen while something is under way, and at rest by a probe once a second") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  lanes.verbs.timeout = 50ms;
  lanes.connect();
  stripe::Completion waits;
  lanes.post(512u << 10, {100}, waits);
  lanes.message(0, 100, 0);
  lanes.run_for(500ms);
  lanes.verbs.silence(*lanes.sender.port.context, MadeUpVerbs::now() + 1h);
  lanes.run_for(300ms);
  CHECK(lanes.receiver.lane->timeouts_in_row() == 0);  // nothing is under way
  REQUIRE(lanes.until([&] { return lanes.receiver.lane->timeouts_in_row() >= 4; }, 2s));
  CHECK(lanes.receiver.lane->probes_unanswered() >= 4);
  REQUIRE(lanes.until([&] { return lanes.receiver.lost.has_value(); }, 10s));
  CHECK(lanes.receiver.lane->loss(true, MadeUpVerbs::now()).timed_out);
  CHECK_THAT(*lanes.receiver.lost,
             Contains("RETRY_EXC_ERR") && Contains("queue pair") && Contains("there:1"));
}

TEST_CASE("a lane that its sender leaves has brought all, and both ends destroy their pairs") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  lanes.connect();
  CHECK(lanes.verbs.queue_pairs() == 2);
  lanes.sender.lane->close();
  lanes.receiver.lane->on_leaving();
  REQUIRE(lanes.until([&] { return lanes.receiver.lane->is_finished(); }));
  CHECK_FALSE(lanes.receiver.lost);
  CHECK(lanes.receiver.lane->has_brought_all());
  lanes.receiver.lane->close();
  REQUIRE(lanes.until([&] { return lanes.verbs.queue_pairs() == 0; }));
  CHECK(lanes.sender.port.carrier->pairs() == 0);
  CHECK(lanes.receiver.port.carrier->pairs() == 0);
  CHECK(lanes.verbs.mrs == 2);  // of the test's own memory
}

TEST_CASE("when flushes have failed, later ones are made by another queue pair") {
  struct User final : lane::FlushUser {
    void on_flushed(std::uint64_t number, bool done) override { ends.emplace_back(number, done); }
    std::vector<std::pair<std::uint64_t, bool>> ends;
  };
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  PortCarrier& carrier = *lanes.sender.port.carrier;
  User user;
  const lane::FlushPlace place{.address = reinterpret_cast<std::uint64_t>(lanes.memory.data()),
                               .key = lanes.sender.port.memory->rkey};
  const auto flush = [&](std::uint64_t number) {
    carrier.flush(std::span(&place, 1), user, number);
    REQUIRE(lanes.until([&] { return user.ends.size() == number; }));
    return user.ends.back();
  };
  CHECK(flush(1) == std::pair<std::uint64_t, bool>(1, true));
  lanes.verbs.silence(*lanes.sender.port.context, MadeUpVerbs::now() + std::chrono::seconds(1));
  CHECK(flush(2) == std::pair<std::uint64_t, bool>(2, false));
  lanes.verbs.silence(*lanes.sender.port.context, MadeUpVerbs::now());
  REQUIRE(lanes.until([&] { return MadeUpVerbs::now() > Instant(std::chrono::hours(1)) + 2s; }, 3s));
  CHECK(flush(3) == std::pair<std::uint64_t, bool>(3, true));
  REQUIRE(lanes.until([&] { return lanes.verbs.queue_pairs() == 1; }));  // the old one is gone
  CHECK(lanes.verbs.reads == 2);
}

TEST_CASE("a fence waits until all has come back, but for a device that is dead") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  lanes.connect();
  const bool dies = GENERATE(false, true);
  if (dies) {
    lanes.verbs.kill(*lanes.receiver.port.context);
    lanes.receiver.port.carrier->on_device_lost();
    REQUIRE(lanes.until([&] { return lanes.receiver.lost.has_value(); }));
    CHECK(*lanes.receiver.lost == "its device has failed");
    CHECK(lanes.receiver.port.carrier->is_away());
    CHECK_THAT(lanes.receiver.port.carrier->why_away(MadeUpVerbs::now()),
               Contains("rail there:1: its device"));
    CHECK(lanes.receiver.port.carrier->offer(lanes.announced, {}, -1) == nullptr);
  } else {
    lanes.receiver.lane->shut();
  }
  REQUIRE_FALSE(lanes.receiver.lane->fence());
  CHECK(lanes.receiver.lane->is_fencing());
  REQUIRE(lanes.until([&] { return lanes.receiver.fenced.has_value(); }));
  CHECK(*lanes.receiver.fenced == 0);
  CHECK(lanes.verbs.queue_pairs() == 1);
}

TEST_CASE("a fence is through although as much is staged as a chain holds") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  lanes.connect();
  const std::vector<lane::Announcer::Buffer> one(1);
  for (std::uint32_t number = 1; number <= SendQueue::kChain; ++number) {
    comm::test::post(lanes.announcer, {number}, one);
    REQUIRE(lanes.receiver.lane->announce(*lanes.announcer.block(), number));
  }
  lanes.receiver.lane->shut();
  REQUIRE_FALSE(lanes.receiver.lane->fence());
  REQUIRE(lanes.until([&] { return lanes.receiver.fenced.has_value(); }));
}

TEST_CASE("an adapter that refuses a queue pair is named") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  lanes.verbs.kill(*lanes.sender.port.context);
  lanes.make();
  REQUIRE(lanes.until([&] { return lanes.sender.lost.has_value(); }));
  CHECK_THAT(*lanes.sender.lost, Contains("here:1: no queue pair of") && Contains("can be created"));
}

TEST_CASE("pairs beyond a completion queue's entries have another one, and their places are used again") {
  engine::Engine engine{{}};
  const engine::Guard guard(engine.lock());
  TwoLanes lanes;
  std::vector<std::unique_ptr<lane::OfferedLane>> many;
  for (int i = 0; i < 40; ++i) {
    many.push_back(lanes.sender.port.carrier->offer(lanes.announced, {}, -1));
  }
  CHECK(lanes.verbs.cqs > 1);
  const std::size_t queues = lanes.verbs.cqs;
  many.clear();
  REQUIRE(lanes.until([&] { return lanes.sender.port.carrier->pairs() == 0; }));
  for (int i = 0; i < 40; ++i) {
    many.push_back(lanes.sender.port.carrier->offer(lanes.announced, {}, -1));
  }
  CHECK(lanes.verbs.cqs == queues);
  many.clear();
}
