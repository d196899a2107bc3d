// Random decisions: shares are within statistical bounds, and the same seed gives the same result.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/wire/packets.h"
#include "tests/unit/wire/wire_run.h"

namespace tfabric::wire {
namespace {

constexpr int kFrames = 100000;

Statistics after_many(const Impairments& impairments, std::uint64_t seed = 1) {
  WireRun run(impairments, seed);
  for (int i = 0; i < kFrames; ++i) {
    run.send();
    run.run_for(microseconds(1));
  }
  run.run_for(seconds(10));
  CHECK(run.store.held == 0);
  CHECK(balanced(run.direction.statistics()));
  return run.direction.statistics();
}

// Five standard deviations of a binomial distribution: one false alarm in millions of seeds.
void check_share(std::uint64_t count, double share, int of = kFrames) {
  const double deviation = std::sqrt(share * (1 - share) * of);
  CHECK(std::abs(static_cast<double>(count) - share * of) < 5 * deviation);
}

}  // namespace

TEST_CASE("shares of frames are met") {
  for (const double share : {0.001, 0.01, 0.3}) {
    INFO(share);
    check_share(after_many({.loss = share}).dropped.loss, share);
    check_share(after_many({.duplicate = share}).duplicated, share);
    check_share(after_many({.reorder = share}).reordered, share);
  }
  CHECK(after_many({.loss = 1}).delivered == 0);
  CHECK(after_many({}).delivered == kFrames);
  CHECK(after_many({.duplicate = 1}).delivered == 2 * kFrames);
}

TEST_CASE("bursts of loss have the length and the share that the model says") {
  const Impairments impairments{.burst = 0.001, .burst_length = 20};
  WireRun run(impairments);
  int bursts = 0, lost = 0;
  bool losing = false;
  for (int i = 0; i < kFrames; ++i) {
    const auto before = run.direction.statistics().dropped.burst;
    run.send();
    run.run_for(microseconds(1));
    const bool loses = run.direction.statistics().dropped.burst > before;
    bursts += loses && !losing ? 1 : 0;
    lost += loses ? 1 : 0;
    losing = loses;
  }
  CHECK(static_cast<double>(lost) / bursts == Approx(20).epsilon(0.35));  // about 98 bursts
  CHECK(static_cast<double>(lost) / kFrames == Approx(0.001 / (0.001 + 1.0 / 20)).epsilon(0.35));
}

TEST_CASE("a frame held back is passed by those that come within its time, and by no others") {
  WireRun run({.reorder = 0.1, .reorder_delay = microseconds(35)}, 7);
  for (int i = 0; i < 1000; ++i) {
    run.send();
    run.run_for(microseconds(10));
  }
  run.run_for(seconds(1));
  REQUIRE(run.arrivals.size() == 1000);
  int displaced = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto distance = static_cast<int>(i) - static_cast<int>(run.arrivals[i].number);
    REQUIRE(distance <= 3);
    displaced += distance > 0 ? 1 : 0;
  }
  CHECK(displaced > 50);
  CHECK(displaced <= static_cast<int>(run.direction.statistics().reordered));
}

TEST_CASE("the same seed gives the same result, another seed another one") {
  const Impairments all{.rate = 1'000'000'000,
                        .queue_bytes = 2000,
                        .loss = 0.05,
                        .burst = 0.01,
                        .duplicate = 0.05,
                        .reorder = 0.05,
                        .delay = microseconds(50),
                        .jitter = microseconds(20)};
  const auto arrivals = [&](std::uint64_t seed) {
    WireRun run(all, seed);
    for (int i = 0; i < 2000; ++i) {
      run.send(64 + static_cast<std::size_t>(i) % 1000);
      run.run_for(microseconds(4));
    }
    run.run_for(seconds(1));
    return run.arrivals;
  };
  CHECK(arrivals(3) == arrivals(3));
  CHECK(arrivals(3) != arrivals(4));
}

TEST_CASE("enabling one impairment does not change which frames another one affects") {
  const auto lost = [](const Impairments& impairments) {
    WireRun run(impairments, 5);
    for (int i = 0; i < 1000; ++i) {
      run.send();
    }
    run.run_for(seconds(1));
    std::vector<std::uint32_t> numbers = run.numbers();
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  };
  CHECK(lost({.loss = 0.1}) == lost({.loss = 0.1, .reorder = 0.2, .jitter = microseconds(5)}));
}

TEST_CASE("without free memory frames are dropped and counted") {
  WireRun run({.corrupt = 1});
  run.store.full = true;
  run.send();
  run.run_for(seconds(1));
  CHECK(run.direction.statistics().dropped.no_buffer == 1);
  run.direction.set({.duplicate = 1}, run.now);
  run.send();
  run.run_for(seconds(1));
  CHECK(run.direction.statistics().duplicated == 0);
  CHECK(run.arrivals.size() == 1);
  CHECK(run.store.held == 0);
}

}  // namespace tfabric::wire
