#include "base/rings.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <thread>
#include <vector>

using tfabric::MpscRing;
using tfabric::SpscRing;

TEST_CASE("a ring returns items in order, and knows when it is full and empty") {
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

TEST_CASE("a ring for many producers returns items in order, and knows when it is full and empty") {
  MpscRing<int, 4> ring;
  int item = -1;
  REQUIRE_FALSE(ring.pop(item));
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 4; ++i) {
      REQUIRE(ring.push(i));
    }
    REQUIRE_FALSE(ring.push(9));
    for (int i = 0; i < 4; ++i) {
      REQUIRE(ring.pop(item));
      REQUIRE(item == i);
    }
    REQUIRE_FALSE(ring.pop(item));
  }
}

TEST_CASE("items of several threads arrive once each, and in order for each thread") {
  static MpscRing<std::uint64_t, 64> ring;
  constexpr std::uint64_t kProducers = 3, kItems = 100000;
  std::vector<std::thread> producers;
  for (std::uint64_t p = 0; p < kProducers; ++p) {
    producers.emplace_back([p] {
      for (std::uint64_t i = 0; i < kItems;) {
        if (ring.push(p << 32 | i)) {
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  std::array<std::uint64_t, kProducers> next{};
  std::uint64_t wrong = 0;
  for (std::uint64_t got = 0; got < kProducers * kItems;) {
    std::uint64_t item = 0;
    if (!ring.pop(item)) {
      std::this_thread::yield();
      continue;
    }
    ++got;
    wrong += (item & 0xffffffff) != next[item >> 32]++ ? 1 : 0;
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
  REQUIRE(wrong == 0);
}
