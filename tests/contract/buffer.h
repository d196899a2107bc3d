// Memory that a test sends from or receives into, with guard bytes on both sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tfabric::contract {

class Buffer {
 public:
  // `misalignment`: how far the memory begins behind a multiple of 64.
  explicit Buffer(std::size_t size, std::size_t misalignment = 0);

  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

  void fill(std::uint64_t seed);
  // Expects the bytes of fill(seed) in the first `n`, those of clear() in the others, and intact guards.
  // Throws, naming the first wrong byte.
  void expect(std::uint64_t seed, std::size_t n) const;
  void clear();

 private:
  std::vector<std::byte> memory_;
  std::byte* data_;
  std::size_t size_;
};

// Writes and checks the bytes of Buffer::fill() in any memory.
void fill_pattern(std::byte* data, std::size_t size, std::uint64_t seed);
void expect_pattern(const std::byte* data, std::size_t size, std::uint64_t seed);

}  // namespace tfabric::contract
