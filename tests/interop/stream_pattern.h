// The bytes that interop streams carry: a function of their position, so that each end checks every byte
// without knowing the other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tfabric::interop {

inline std::byte pattern_at(std::uint64_t position) {
  return static_cast<std::byte>((position * 0x9e3779b97f4a7c15u) >> 56);
}

inline void fill_pattern(std::byte* out, std::size_t size, std::uint64_t position) {
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = pattern_at(position + i);
  }
}

// Returns how many of the `size` bytes at `position` of the stream are wrong.
inline std::uint64_t count_wrong(const std::byte* bytes, std::size_t size, std::uint64_t position) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < size; ++i) {
    wrong += bytes[i] != pattern_at(position + i) ? 1u : 0u;
  }
  return wrong;
}

}  // namespace tfabric::interop
