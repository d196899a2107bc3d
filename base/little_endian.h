// Integers and enumerations as little-endian bytes, for data that travels between hosts. `at` needs no
// alignment and has at least sizeof(T) bytes.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace tfabric {

template <class T>
concept LittleEndian = (std::integral<T> && !std::same_as<T, bool>) || std::is_enum_v<T>;

template <LittleEndian T>
void put_little_endian(std::byte* at, T value) {
  static_assert(std::endian::native == std::endian::little, "big-endian hosts need a byte swap here");
  std::memcpy(at, &value, sizeof value);
}

template <LittleEndian T>
[[nodiscard]] T get_little_endian(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace tfabric
