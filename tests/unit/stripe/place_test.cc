#include "transport/stripe/place.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

using tfabric::stripe::place;

TEST_CASE("place copies every size at every alignment and touches nothing else") {
  std::vector<std::byte> source(1200), target(1200), expected(1200);
  for (std::size_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<std::byte>(i * 7 + 3);
  }
  for (std::size_t size = 0; size < 300; ++size) {
    for (std::size_t to = 0; to < 66; to += size < 20 ? 1 : 5) {
      for (std::size_t from = 0; from < 9; from += 4) {
        std::fill(target.begin(), target.end(), std::byte{0xee});
        expected = target;
        std::memcpy(expected.data() + to, source.data() + from, size);
        place(target.data() + to, source.data() + from, size);
        REQUIRE(target == expected);
      }
    }
  }
}

// A reader polls the last word of each 128-byte line, as a GPU does with LL128: once it has the new
// generation's flag, the whole line must be of that generation.
TEST_CASE("a line's last word never becomes visible before the rest of the line") {
  constexpr std::size_t kLines = 64;
  constexpr std::size_t kWords = 16;
  constexpr std::uint64_t kGenerations = 2000;
  alignas(128) static std::uint64_t buffer[kLines * kWords];
  std::memset(buffer, 0, sizeof buffer);
  std::atomic<std::uint64_t> torn{0};
  std::atomic<std::uint64_t> seen{0};
  std::thread reader([&] {
    for (std::uint64_t generation = 1; generation <= kGenerations; ++generation) {
      for (std::size_t line = 0; line < kLines; ++line) {
        const std::uint64_t* words = buffer + line * kWords;
        while (__atomic_load_n(&words[kWords - 1], __ATOMIC_ACQUIRE) != generation) {
          std::this_thread::yield();
        }
        for (std::size_t i = 0; i + 1 < kWords; ++i) {
          torn += __atomic_load_n(&words[i], __ATOMIC_RELAXED) == generation ? 0 : 1;
        }
      }
      seen.store(generation, std::memory_order_release);
    }
  });
  std::mt19937 random(1);
  std::vector<std::uint64_t> source(kLines * kWords);
  for (std::uint64_t generation = 1; generation <= kGenerations; ++generation) {
    std::fill(source.begin(), source.end(), generation);
    const auto* from = reinterpret_cast<const std::byte*>(source.data());
    auto* to = reinterpret_cast<std::byte*>(buffer);
    // As segments arrive: ascending pieces of any length.
    for (std::size_t at = 0; at < sizeof buffer;) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 1500, sizeof buffer - at);
      place(to + at, from + at, size);
      at += size;
    }
    while (seen.load(std::memory_order_acquire) != generation) {
      std::this_thread::yield();
    }
  }
  reader.join();
  REQUIRE(torn == 0);
}
