#include "transport/tcp/link/deadlines.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <type_traits>
#include <vector>

#include "transport/tcp/link/tcp_flow.h"

using namespace tfabric;
using namespace tfabric::link;
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

namespace tfabric::link {

TEST_CASE("flows get their turns in the order in which they asked, like in a plain queue") {
  constexpr unsigned kSeed = 20261121;
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  // Only their addresses matter.
  std::vector<std::aligned_storage_t<sizeof(TcpFlow), alignof(TcpFlow)>> places(64);
  const auto flow_at = [&](std::size_t i) { return reinterpret_cast<TcpFlow*>(&places[i]); };
  OutputQueue queue;
  std::deque<TcpFlow*> model;
  for (int step = 0; step < 100'000; ++step) {
    // Long waves of growth and decline, down to nothing.
    const bool grow = step / 500 % 2 == 0 ? random() % 3 != 0 : random() % 3 == 0;
    if (grow || model.empty()) {
      TcpFlow* flow = flow_at(random() % places.size());
      queue.push(*flow);
      model.push_back(flow);
    } else {
      REQUIRE(&queue.pop() == model.front());
      model.pop_front();
    }
    REQUIRE(queue.size() == model.size());
  }
  queue.clear();
  CHECK(queue.size() == 0);
}

}  // namespace tfabric::link
