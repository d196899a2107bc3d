#include "tools/perf/pattern.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tfabric::perf {
namespace {

constexpr std::byte kGuard{0xa5};

// The finaliser of splitmix64: every input bit changes every output bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::uint64_t word_at(std::uint64_t seed, std::size_t index) {
  return mix(seed + index * 0x9e3779b97f4a7c15);
}

}  // namespace

std::uint64_t message_seed(std::uint64_t lane, std::uint64_t message, bool from_server) {
  return mix((lane << 40) + message * 2 + (from_server ? 1 : 0) + 1);
}

void fill_pattern(std::span<std::byte> data, std::uint64_t seed) {
  for (std::size_t at = 0; at < data.size(); at += 8) {
    const std::uint64_t word = word_at(seed, at / 8);
    std::memcpy(data.data() + at, &word, std::min<std::size_t>(8, data.size() - at));
  }
}

std::uint64_t count_wrong(std::span<const std::byte> data, std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (std::size_t at = 0; at < data.size(); at += 8) {
    const std::size_t length = std::min<std::size_t>(8, data.size() - at);
    const std::uint64_t word = word_at(seed, at / 8);
    if (std::memcmp(data.data() + at, &word, length) == 0) continue;
    std::array<std::byte, 8> expected;
    std::memcpy(expected.data(), &word, 8);
    for (std::size_t i = 0; i < length; ++i) wrong += data[at + i] != expected[i] ? 1 : 0;
  }
  return wrong;
}

void fill_guard(std::span<std::byte> guard) { std::fill(guard.begin(), guard.end(), kGuard); }

std::uint64_t count_overrun(std::span<const std::byte> guard) {
  return static_cast<std::uint64_t>(
      std::count_if(guard.begin(), guard.end(), [](std::byte b) { return b != kGuard; }));
}

}  // namespace tfabric::perf
