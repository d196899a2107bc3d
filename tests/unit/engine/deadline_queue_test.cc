#include "transport/tcp/engine/deadline_queue.h"

#include <catch2/catch.hpp>
#include <random>

using namespace tfabric;
using namespace tfabric::engine;
using namespace std::chrono_literals;

namespace {

struct Timed : DeadlineQueue::Node {};

constexpr Instant at(int us) { return Instant(std::chrono::microseconds(us)); }

}  // namespace

TEST_CASE("who is due is taken, the others stay") {
  DeadlineQueue queue;
  Timed a, b, c;
  REQUIRE(queue.next() == kNever);
  queue.set(a, at(30));
  queue.set(b, at(10));
  queue.set(c, at(20));
  REQUIRE(queue.next() == at(10));
  REQUIRE(queue.take(at(5)) == nullptr);
  REQUIRE(queue.take(at(20)) == &b);
  REQUIRE(queue.take(at(20)) == &c);
  REQUIRE(queue.take(at(20)) == nullptr);
  REQUIRE(queue.take(at(30)) == &a);
  REQUIRE(queue.next() == kNever);
}

TEST_CASE("a deadline that moved to later, or away, is not due at its old time") {
  DeadlineQueue queue;
  Timed a, b;
  queue.set(a, at(10));
  queue.set(b, at(10));
  queue.set(a, at(50));
  queue.set(b, kNever);
  REQUIRE(queue.next() <= at(50));
  REQUIRE(queue.take(at(49)) == nullptr);
  REQUIRE(queue.next() == at(50));
  REQUIRE(queue.take(at(50)) == &a);
  REQUIRE(queue.next() == kNever);
}

TEST_CASE("a node that is removed is forgotten, twice is once") {
  DeadlineQueue queue;
  Timed a, b;
  queue.set(a, at(10));
  queue.set(b, at(20));
  queue.remove(a);
  queue.remove(a);
  REQUIRE(queue.take(at(100)) == &b);
  REQUIRE(queue.take(at(100)) == nullptr);
}

TEST_CASE("against a plain list, with random deadlines") {
  const unsigned seed = GENERATE(range(1u, 21u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  DeadlineQueue queue;
  std::vector<Timed> nodes(50);
  int now = 0;
  for (int step = 0; step < 5000; ++step) {
    Timed& node = nodes[random() % nodes.size()];
    switch (random() % 4) {
      case 0:
      case 1:
        queue.set(node, at(now + 1 + static_cast<int>(random() % 1000)));
        break;
      case 2:
        random() % 2 == 0 ? queue.set(node, kNever) : queue.remove(node);
        break;
      default: {
        now += static_cast<int>(random() % 100);
        std::size_t due = 0, taken = 0;
        for (const Timed& each : nodes) {
          due += each.deadline() <= at(now) ? 1u : 0u;
        }
        while (DeadlineQueue::Node* each = queue.take(at(now))) {
          REQUIRE(each->deadline() <= at(now));
          queue.set(*each, kNever);
          ++taken;
        }
        REQUIRE(taken == due);
      }
    }
  }
}
