// Rate, queue, delay and the link's state, in virtual time.
#include <catch2/catch.hpp>

#include "tests/unit/wire/wire_run.h"

namespace tfabric::wire {
namespace {

// Keeps the queue filled for `duration`, and returns the bits that arrived per second.
double measured_rate(std::uint64_t rate, std::size_t frame_bytes, Duration duration) {
  WireRun run({.rate = rate, .queue_bytes = 8 * frame_bytes});
  const Instant end = run.now + duration;
  const auto step = Duration(
      static_cast<Duration::rep>(4e9 * 8 * static_cast<double>(frame_bytes) / static_cast<double>(rate)));
  while (run.now < end) {
    for (int i = 0; i < 8; ++i) {
      run.send(frame_bytes);
    }
    run.run_for(step);
  }
  REQUIRE(balanced(run.direction.statistics()));
  return static_cast<double>(run.direction.statistics().delivered_bytes) * 8 /
         std::chrono::duration<double>(run.now - Instant{}).count();
}

}  // namespace

TEST_CASE("the rate is kept within one percent, from 1 Mbit/s to 400 Gbit/s, for small and large frames") {
  for (const std::size_t bytes : {64u, 1514u, 16014u}) {
    for (const double rate : {1e6, 1e9, 1e10, 1e11, 4e11}) {
      INFO(bytes << " bytes at " << rate);
      const auto duration =
          Duration(static_cast<Duration::rep>(20000.0 * static_cast<double>(bytes) * 8e9 / rate));
      CHECK(measured_rate(static_cast<std::uint64_t>(rate), bytes, duration) == Approx(rate).epsilon(0.01));
    }
  }
}

TEST_CASE("without impairments a frame arrives at once") {
  WireRun run({});
  run.send();
  CHECK(run.direction.next_event() == run.now);
  run.run(run.now);
  CHECK(run.arrivals == std::vector<Arrival>{{0, Instant{}}});
}

TEST_CASE("a frame arrives when its last bit has been sent and has travelled") {
  WireRun run({.rate = 8'000'000, .delay = milliseconds(5)});  // a byte a microsecond
  run.send(1000);
  run.send(500);
  run.run_for(seconds(1));
  CHECK(run.arrivals ==
        std::vector<Arrival>{{0, Instant(microseconds(6000))}, {1, Instant(microseconds(6500))}});
}

TEST_CASE("the queue holds no more bytes than its limit, and drops the tail") {
  WireRun run({.rate = 8'000'000, .queue_bytes = 3000});
  for (int i = 0; i < 10; ++i) {
    run.send(1000);
    CHECK(run.direction.statistics().queued_bytes <= 3000);
  }
  // One is on the wire, three wait.
  CHECK(run.direction.statistics().queued == 3);
  CHECK(run.direction.statistics().dropped.queue == 6);
  run.run_for(seconds(1));
  CHECK(run.numbers() == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(balanced(run.direction.statistics()));
}

TEST_CASE("jitter spreads the delay within its bounds and leaves the order") {
  WireRun run({.delay = milliseconds(10), .jitter = milliseconds(2)});
  std::vector<Instant> sent;
  for (int i = 0; i < 1000; ++i) {
    sent.push_back(run.now);
    run.send();
    run.run_for(milliseconds(3));
  }
  run.run_for(seconds(1));
  REQUIRE(run.arrivals.size() == 1000);
  Duration least = seconds(1), most{};
  for (std::uint32_t i = 0; i < 1000; ++i) {
    REQUIRE(run.arrivals[i].number == i);
    least = std::min(least, run.arrivals[i].at - sent[i]);
    most = std::max(most, run.arrivals[i].at - sent[i]);
  }
  CHECK(least >= milliseconds(10));
  CHECK(least < microseconds(10100));
  CHECK(most <= milliseconds(12));
  CHECK(most > microseconds(11900));
}

TEST_CASE("a delay that is shortened while frames are in flight does not reorder them") {
  WireRun run({.delay = milliseconds(10)});
  run.send();
  run.direction.set({}, run.now);
  run.send();
  run.run_for(seconds(1));
  CHECK(run.numbers() == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("a new rate applies to the frames whose transmission has not begun") {
  WireRun run({.rate = 8'000'000});
  run.send(1000);
  run.send(1000);
  run.direction.set({.rate = 80'000'000}, run.now);
  run.run_for(seconds(1));
  CHECK(run.arrivals[0].at == Instant(microseconds(1000)));
  CHECK(run.arrivals[1].at == Instant(microseconds(1100)));
}

TEST_CASE("a link that is down loses all frames, including those in flight") {
  WireRun run({.rate = 8'000'000, .delay = milliseconds(5)});
  for (int i = 0; i < 3; ++i) {
    run.send(1000);
  }
  run.direction.set({.link = LinkState::down}, run.now);
  run.send();
  run.run_for(seconds(1));
  CHECK(run.arrivals.empty());
  CHECK(run.direction.statistics().dropped.down == 4);
  CHECK(run.store.held == 0);
  run.direction.set({}, run.now);
  run.send();
  run.run_for(seconds(1));
  CHECK(run.numbers() == std::vector<std::uint32_t>{4});
}

TEST_CASE("a frozen link keeps its frames, accepts what fits the queue, and continues where it stopped") {
  WireRun run({.queue_bytes = 1000, .delay = milliseconds(1)});
  run.send(500);
  run.direction.set({.link = LinkState::freeze, .queue_bytes = 1000, .delay = milliseconds(1)}, run.now);
  for (int i = 0; i < 3; ++i) {
    run.send(500);
  }
  CHECK(run.direction.next_event() == kNever);
  run.run_for(seconds(1));
  CHECK(run.arrivals.empty());
  CHECK(run.direction.statistics().dropped.queue == 1);
  run.direction.set({.delay = milliseconds(1)}, run.now);
  run.run_for(seconds(1));
  CHECK(run.arrivals == std::vector<Arrival>{{0, Instant(seconds(1))},
                                             {1, Instant(milliseconds(1001))},
                                             {2, Instant(milliseconds(1001))}});
  CHECK(balanced(run.direction.statistics()));
}

}  // namespace tfabric::wire
