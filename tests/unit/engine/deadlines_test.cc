#include "transport/tcp/engine/deadlines.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace tfabric;
using namespace tfabric::engine;
using namespace std::chrono_literals;

namespace {
constexpr Instant kStart{std::chrono::hours(1)};
}

TEST_CASE("deadlines come due in time, whatever happens to them, as in a plain list") {
  const unsigned seed = GENERATE(range(0u, 20u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<Timed> all(1 + random() % 200);
  Deadlines deadlines;
  Instant now = kStart;
  for (int step = 0; step < 3000; ++step) {
    Timed& one = all[random() % all.size()];
    switch (random() % 8) {
      case 0:
        deadlines.remove(one);
        break;
      case 1:
        deadlines.set(one, kNever);
        break;
      case 2:
        now += 1us * (random() % 500);
        break;
      default:
        deadlines.set(one, now + 1us * (random() % 1000));
        break;
    }
    const auto due = [&](const Timed& timed) { return timed.deadline() <= now; };
    const auto expected = std::count_if(all.begin(), all.end(), due);
    for (const Timed& timed : all) {
      REQUIRE(deadlines.next() <= timed.deadline());
    }
    std::ptrdiff_t taken = 0;
    while (Timed* timed = deadlines.take_due(now)) {
      REQUIRE(timed->deadline() == kNever);  // it is out, until it is set anew
      ++taken;
    }
    REQUIRE(taken == expected);
  }
}

TEST_CASE("nothing is due where nothing has a deadline") {
  Deadlines deadlines;
  REQUIRE(deadlines.next() == kNever);
  REQUIRE(deadlines.take_due(kNever) == nullptr);
  Timed one;
  deadlines.remove(one);
  deadlines.set(one, kNever);
  REQUIRE(deadlines.next() == kNever);
}
