#include "base/spsc_ring.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <thread>

using tfabric::SpscRing;

TEST_CASE("the ring gives items back in order, is full at its capacity and empty at none") {
  SpscRing<int, 4> ring;
  REQUIRE(ring.front() == nullptr);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 4; ++i) {
      REQUIRE(ring.push(i));
    }
    REQUIRE_FALSE(ring.push(9));
    for (int i = 0; i < 4; ++i) {
      REQUIRE(*ring.front() == i);
      ring.pop();
    }
    REQUIRE(ring.front() == nullptr);
  }
}

TEST_CASE("a million items pass between two threads in order") {
  static SpscRing<std::uint64_t, 64> ring;
  constexpr std::uint64_t kItems = 1000000;
  std::thread producer([] {
    for (std::uint64_t i = 0; i < kItems;) {
      if (ring.push(i)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < kItems;) {
    if (const std::uint64_t* item = ring.front(); item != nullptr) {
      wrong += *item != i ? 1 : 0;
      ring.pop();
      ++i;
    } else {
      std::this_thread::yield();
    }
  }
  producer.join();
  REQUIRE(wrong == 0);
}
