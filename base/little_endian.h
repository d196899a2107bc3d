// Unsigned integers as little-endian bytes, for what travels between hosts. The bytes need no alignment; the
// caller sees to it that there are sizeof(T) of them.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace tfabric {

template <std::unsigned_integral T>
void put_little_endian(std::byte* at, T value) {
  static_assert(std::endian::native == std::endian::little, "a byte swap belongs here");
  std::memcpy(at, &value, sizeof value);
}

template <std::unsigned_integral T>
[[nodiscard]] T get_little_endian(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace tfabric
