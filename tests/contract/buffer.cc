#include "tests/contract/buffer.h"

#include <algorithm>
#include <cstring>

#include "tests/contract/expect.h"

namespace tfabric::contract {
namespace {

constexpr std::size_t kGuard = 256;
constexpr std::byte kGuardByte{0xc5};
constexpr std::byte kClearByte{0x3a};

// Any 8 bytes of the pattern differ from those of other seeds and places.
std::uint64_t word_at(std::uint64_t seed, std::size_t index) {
  std::uint64_t x = (seed << 40) + index + 1;
  x *= 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  return x * 0xbf58476d1ce4e5b9u;
}

void expect_all(const std::byte* data, std::size_t size, std::byte value, const char* what) {
  const auto* wrong = std::find_if(data, data + size, [value](std::byte b) { return b != value; });
  CONTRACT_EXPECT(wrong == data + size, "{} byte {} of {} was written", what, wrong - data, size);
}

}  // namespace

void fill_pattern(std::byte* data, std::size_t size, std::uint64_t seed) {
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = word_at(seed, i / 8);
    std::memcpy(data + i, &word, std::min<std::size_t>(8, size - i));
  }
}

void expect_pattern(const std::byte* data, std::size_t size, std::uint64_t seed) {
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = word_at(seed, i / 8);
    CONTRACT_EXPECT(std::memcmp(data + i, &word, std::min<std::size_t>(8, size - i)) == 0,
                    "message {}: wrong at byte {} of {}", seed, i, size);
  }
}

Buffer::Buffer(std::size_t size, std::size_t misalignment)
    : memory_(size + 2 * kGuard + 128, kGuardByte), size_(size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data()) + kGuard;
  data_ = memory_.data() + kGuard + (64 - begin % 64) % 64 + misalignment % 64;
  clear();
}

void Buffer::clear() { std::fill_n(data_, size_, kClearByte); }

void Buffer::fill(std::uint64_t seed) { fill_pattern(data_, size_, seed); }

void Buffer::expect(std::uint64_t seed, std::size_t n) const {
  expect_pattern(data_, n, seed);
  expect_all(data_ + n, size_ - n, kClearByte, "beyond the message");
  const std::byte* end = data_ + size_;
  expect_all(memory_.data(), static_cast<std::size_t>(data_ - memory_.data()), kGuardByte,
             "guard before the buffer:");
  expect_all(end, static_cast<std::size_t>(memory_.data() + memory_.size() - end), kGuardByte,
             "guard behind the buffer:");
}

}  // namespace tfabric::contract
