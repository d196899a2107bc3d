// Lanes that die in the middle of a job: no message is lost, none comes twice, and the comm goes on.
#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <optional>
#include <vector>

#include "base/random.h"
#include "tests/unit/tcp/comm_pair.h"

using namespace tfabric;
using namespace tfabric::comm;
using namespace tfabric::session;
using namespace tfabric::comm::test;
using namespace std::chrono_literals;
using Catch::Contains;
using State = CutWire::State;

namespace {

// Connections that give up soon on a peer that does not answer.
link::Options quick_to_die() {
  link::Options options;
  options.tcp.user_timeout = 30ms;
  options.tcp.connect_timeout = 30ms;
  options.tcp.keepalive_idle = 20ms;
  options.tcp.keepalive_interval = 5ms;
  return options;
}

void turn_for(World& world, Duration time) {
  const Instant end = monotonic_now() + time;
  while (monotonic_now() < end) {
    const engine::Guard guard(world.engine.lock());
    world.engine.turn();
  }
}

// Sends and receives messages of random sizes, in order; receives are posted early or late.
class Traffic {
 public:
  Traffic(World& world, Pair& pair, SeededRandom& random) : world_(&world), pair_(&pair), random_(&random) {}

  // `wait`: some lane can carry messages, so that waiting for one ends.
  void step(bool wait) {
    if (messages_.size() < 12) {
      const bool small = random_->chance(0.6);
      Pair::Message& message =
          pair_->message(random_->between(std::uint64_t{0}, small ? stripe::kMaxEagerBytes : 400'000u));
      messages_.push_back(&message);
      pair_->post_send(message);
      ++sent_;
    }
    for (; posted_ < messages_.size() && random_->chance(0.5); ++posted_) {
      pair_->post_receive(*messages_[posted_]);
    }
    if (wait && posted_ > 4 && random_->chance(0.7)) {
      finish_first();
    }
    turn_for(*world_, std::chrono::microseconds(random_->between(std::uint64_t{0}, 300u)));
  }
  void finish_all() {
    for (; posted_ < messages_.size(); ++posted_) {
      pair_->post_receive(*messages_[posted_]);
    }
    while (!messages_.empty()) {
      finish_first();
    }
  }
  [[nodiscard]] int sent() const { return sent_; }

 private:
  void finish_first() {
    pair_->finish(*messages_.front());
    messages_.pop_front();
    --posted_;
  }
  World* world_;
  Pair* pair_;
  SeededRandom* random_;
  std::deque<Pair::Message*> messages_;
  std::size_t posted_ = 0;
  int sent_ = 0;
};

}  // namespace

TEST_CASE("links come and go, and every message arrives whole and once") {
  const auto seed = GENERATE(range(1, 9));
  INFO("seed " << seed);
  SeededRandom random(static_cast<std::uint64_t>(seed));
  World world({.piece_bytes = 4096, .outage = 60s}, quick_to_die());
  Pair pair(world);
  Traffic traffic(world, pair, random);
  for (int cuts = 0; cuts < 12; ++cuts) {
    const std::size_t wire = random.chance(0.5) ? 1 : 0;
    world.cut(wire, random.chance(0.5) ? State::no_link : State::swallows);
    const bool both = random.chance(0.3);  // no lane is left for a while
    if (both) {
      world.cut(1 - wire, State::swallows);
    }
    for (int i = 0; i < 4; ++i) {
      traffic.step(/*wait=*/!both);
    }
    if (both) {
      turn_for(world, std::chrono::milliseconds(random.between(std::uint64_t{0}, 60u)));
    }
    world.cut(0, State::whole);
    world.cut(1, State::whole);
    for (int i = 0; i < 4; ++i) {
      traffic.step(/*wait=*/true);
    }
  }
  traffic.finish_all();
  CHECK_FALSE(pair.receive->failed());
  CHECK(traffic.sent() > 50);
  CHECK(pair.send->counters().buried > 0);
}

TEST_CASE("a link that goes down costs a comm with another one nothing but what was under way") {
  World world({.piece_bytes = 4096, .outage = 60s});  // connections time out after 20 s
  Pair pair(world);
  pair.exchange(1'000'000);
  Pair::Message& message = pair.begin(3'000'000);
  world.cut(0, State::no_link);
  pair.finish(message);
  CHECK(pair.send->counters().buried == 1);
  world.cut(0, State::whole);
  REQUIRE(world.until([&] { return pair.send->counters().joined == 2; }));
  pair.exchange(1'000'000);
}

// A rail that comes and goes is dialled ever more rarely, but not so rarely that the other one's death is the
// comm's.
TEST_CASE("a comm goes back to a worn rail when the only other one dies") {
  constexpr Duration kPatience = 10s;
  link::Options tcp_options;
  tcp_options.tcp.user_timeout = kPatience;
  World world({.piece_bytes = 4096, .outage = kPatience}, tcp_options);
  Pair pair(world);
  const LaneCounters& counters = pair.send->counters();
  pair.exchange(1'000'000);
  for (std::uint64_t losses = 1; losses <= 9; ++losses) {
    world.cut(0, State::no_link);
    REQUIRE(world.until([&] { return counters.buried == losses; }));
    world.cut(0, State::whole);
    REQUIRE(world.until([&] { return counters.joined == losses + 1; }));
  }
  // Once more, as behind a switch: no link says when it is back.
  Pair::Message& message = pair.begin(3'000'000);
  world.cut(0, State::swallows);
  pair.finish(message);
  REQUIRE(counters.buried == 10);
  world.cut(0, State::whole);
  Pair::Message& last = pair.message(3'000'000);
  SECTION("with data under way") {
    pair.post_receive(last);
    pair.post_send(last);
    turn_for(world, 1ms);
    world.cut(1, State::swallows);
  }
  SECTION("with a report under way for which the sender waits") {
    world.cut(1, State::swallows);
    pair.post_receive(last);
    pair.post_send(last);
  }
  SECTION("with a report under way to a sender that has nothing to send yet") {
    world.cut(1, State::swallows);
    pair.post_receive(last);
    REQUIRE(world.until([&] { return counters.joined == 11 || pair.receive->failed(); }));
    pair.post_send(last);
  }
  pair.finish(last);
}

TEST_CASE("a rail on which everything vanishes is given up when the peer answers over another") {
  World world({.piece_bytes = 4096, .outage = 60s});  // connections time out after 20 s
  Pair pair(world);
  const std::size_t wire = GENERATE(0u, 1u);
  pair.exchange(1'000'000);
  SECTION("with data under way") {
    Pair::Message& message = pair.begin(3'000'000);
    world.cut(wire, State::swallows);
    pair.finish(message);
  }
  SECTION("with the report of a receive under way") {
    world.cut(wire, State::swallows);
    for (int i = 0; i < 5; ++i) {
      pair.exchange(100'000);
    }
  }
  CHECK(pair.send->counters().buried == 1);
  world.cut(wire, State::whole);
  REQUIRE(world.until([&] { return pair.send->counters().joined == 2; }));
  pair.exchange(1'000'000);
}

TEST_CASE("a rail that a rehearsal silences, cuts or lets lose again and again costs no byte") {
  const std::string faults =
      GENERATE("pair1:silent@50ms+200ms/500ms", "pair1:down@50ms+200ms/500ms",
               "pair1:silent-in@50ms+200ms/500ms", "pair1:loss=2%@0s;pair1:rate=500M@0s");
  INFO(faults);
  const auto rehearsal =
      std::make_shared<engine::Rehearsal>("pair1", *config::parse_faults(faults), monotonic_now());
  World world({.piece_bytes = 4096, .outage = 60s}, quick_to_die(), {}, rehearsal);
  Pair pair(world);
  SeededRandom random(1);
  Traffic traffic(world, pair, random);
  const bool loses_lanes = faults.find("loss") == std::string::npos;
  const Instant begin = monotonic_now();
  // On a host that stalls, a lane may be lost each time before the next one is there.
  const auto has_lost_and_regained = [&] {
    return pair.send->counters().buried >= 2 && pair.send->counters().joined > 2;
  };
  while (monotonic_now() - begin < 2s || (loses_lanes && !has_lost_and_regained())) {
    REQUIRE(monotonic_now() - begin < 120s);
    traffic.step(/*wait=*/true);
  }
  traffic.finish_all();
  CHECK_FALSE(pair.receive->failed());
  CHECK(rehearsal->lost() > 0);
  CHECK((!loses_lanes || pair.send->counters().joined > 2));
}

TEST_CASE("a peer that answers on no rail loses none") {
  World world({.piece_bytes = 4096, .outage = 60s});
  Pair pair(world);
  pair.exchange(1'000'000);
  Pair::Message& message = pair.begin(3'000'000);
  world.cut(0, State::swallows);
  world.cut(1, State::swallows);
  turn_for(world, 400ms);
  world.cut(0, State::whole);
  world.cut(1, State::whole);
  pair.finish(message);
  pair.exchange(1'000'000);
  CHECK(pair.send->counters().buried == 0);
}

TEST_CASE("a comm whose only lane is cut goes on when it is back, and fails with the reason when it is not") {
  const bool comes_back = GENERATE(true, false);
  World world({.piece_bytes = 4096, .outage = comes_back ? Duration(60s) : Duration(400ms)}, quick_to_die());
  Pair pair(world);
  pair.use_flows({1}, 0, 0);
  pair.exchange(10'000);
  Pair::Message& message = pair.begin(1'000'000);
  world.cut(0, State::swallows);
  if (comes_back) {
    REQUIRE(world.until([&] { return pair.send->counters().buried >= 1; }));
    world.cut(0, State::whole);
    pair.finish(message);
    pair.exchange(100'000);
  } else {
    REQUIRE(world.until([&] { return pair.send->failed() && pair.receive->failed(); }));
    CHECK_THAT(pair.send->error().message, Contains("send connection") && Contains("over rail pair0") &&
                                               Contains("has not answered for"));
    CHECK_THAT(pair.receive->error().message, Contains("receive connection"));
  }
}

TEST_CASE("of many comms that have lost their peer, one after the other dials, and all go on afterwards") {
  constexpr std::size_t kComms = 64;
  World world({.piece_bytes = 4096, .outage = 60s}, quick_to_die());
  std::deque<Pair> pairs;
  std::vector<Pair::Message*> messages;
  for (std::size_t i = 0; i < kComms; ++i) {
    pairs.emplace_back(world);
  }
  world.cut(0, State::swallows);
  world.cut(1, State::swallows);
  for (Pair& pair : pairs) {
    messages.push_back(&pair.begin(20'000));
  }
  const auto dialled = [&] {
    std::uint64_t sum = 0;
    for (const Pair& pair : pairs) {
      sum += pair.send->counters().refused;
    }
    return sum;
  };
  REQUIRE(world.until([&] { return dialled() > 0; }));
  const std::uint64_t before = dialled();
  const Instant begun = monotonic_now();
  turn_for(world, 2s);
  const double seconds = std::chrono::duration<double>(monotonic_now() - begun).count();
  const std::uint64_t dials = dialled() - before;
  INFO(dials << " dials in " << seconds << " s");
  CHECK(dials > 4);
  // Ten a second over each of two routes, and those that had begun before the first loss.
  CHECK(static_cast<double>(dials) < 2 * 10 * seconds + 2 * kComms);
  world.cut(0, State::whole);
  world.cut(1, State::whole);
  for (std::size_t i = 0; i < kComms; ++i) {
    pairs[i].finish(*messages[i]);
  }
}

TEST_CASE("a peer that has closed is known to be gone at the first try to come back") {
  World world({.outage = 600s}, quick_to_die());
  Pair pair(world);
  pair.exchange(1000);
  // Both ends lose all lanes, and the receiver closes meanwhile: no record can reach the sender.
  world.cut(0, State::swallows);
  world.cut(1, State::swallows);
  pair.post_send(pair.message(1000));
  REQUIRE(world.until([&] { return pair.send->counters().buried >= 2; }));
  pair.receive.reset();
  world.cut(0, State::whole);
  world.cut(1, State::whole);
  REQUIRE(world.until([&] { return pair.send->failed(); }));
  CHECK_THAT(pair.send->error().message, Contains("the peer closed its communicator"));
}

TEST_CASE("a wire to one process that is taken away ends its comms at once, for that process has ended") {
  World world({.piece_bytes = 4096, .outage = 600s}, {}, {.ends_with_link = true});
  Pair pair(world);
  pair.exchange(1000);
  Pair::Message& message = pair.begin(1'000'000);
  {
    const engine::Guard guard(world.engine.lock());
    for (link::Link* link : world.links) {
      static_cast<void>(world.tcp.remove_link(*link));
    }
  }
  REQUIRE(world.until([&] { return pair.send->failed() && pair.receive->failed(); }));
  CHECK_FALSE(message.in->test(nullptr).ok());
}

TEST_CASE("grouped receives are announced again when the lane that announced them dies") {
  World world({.piece_bytes = 4096, .max_recvs = 4, .outage = 60s}, quick_to_die());
  Pair pair(world);
  for (int round = 0; round < 20; ++round) {
    world.cut(static_cast<std::size_t>(round % 2), State::swallows);
    std::vector<Pair::Message*> messages;
    for (int tag = 0; tag < 5; ++tag) {
      messages.push_back(&pair.message(static_cast<std::size_t>(round) * 1777, tag));
      pair.post_receive(*messages.back());
    }
    for (Pair::Message* message : messages) {
      pair.post_send(*message);
    }
    if (round % 3 == 0) {
      world.cut(static_cast<std::size_t>(round % 2), State::whole);
    }
    for (Pair::Message* message : messages) {
      pair.finish(*message);
    }
    world.cut(static_cast<std::size_t>(round % 2), State::whole);
  }
}

TEST_CASE("a comm begins with the rails that answer, and the others join later") {
  World world({.outage = 60s}, quick_to_die());
  world.cut(1, State::swallows);
  const Hello hello{.token = world.token, .comm = random_u64(), .serial = {}};
  const auto send = open_send(world, hello, 1);
  REQUIRE(world.until([&] { return send->welcomed() && world.pending.has_ready(); }));
  world.cut(1, State::whole);
  REQUIRE(world.until([&] { return send->counters().joined == 1; }));
}
