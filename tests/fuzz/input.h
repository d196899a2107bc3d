// The fuzzer's bytes as a source of numbers; zeros when they are used up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tfabric::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  std::uint8_t u8() {
    if (bytes_.empty()) {
      return 0;
    }
    const std::uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  std::uint16_t u16() {
    const std::uint32_t high = u8();
    return static_cast<std::uint16_t>(high << 8 | u8());
  }
  std::uint32_t u32() {
    const std::uint32_t high = u16();
    return high << 16 | u16();
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace tfabric::fuzz
