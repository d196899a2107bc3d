// Integers as big-endian bytes, the order of networks' headers. `at` needs no alignment and has at least
// sizeof(T) bytes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/little_endian.h"

namespace tfabric {

// The same bytes in the other order.
[[nodiscard]] constexpr std::uint16_t reversed(std::uint16_t value) { return __builtin_bswap16(value); }
[[nodiscard]] constexpr std::uint32_t reversed(std::uint32_t value) { return __builtin_bswap32(value); }

template <std::unsigned_integral T>
void put_big_endian(std::byte* at, T value) {
  put_little_endian(at, reversed(value));
}

template <std::unsigned_integral T>
[[nodiscard]] T get_big_endian(const std::byte* at) {
  return reversed(get_little_endian<T>(at));
}

}  // namespace tfabric
