// The two 16-bit floating-point formats: stored here, calculated with as float, rounded to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace fakecuda::kernels {

// IEEE 754 binary16.
class Half {
 public:
  Half() = default;
  explicit Half(float value) : bits_(encode(value)) {}
  explicit operator float() const { return decode(bits_); }

 private:
  static float decode(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
    if (exponent == 0) {
      const float value = static_cast<float>(mantissa) * 0x1p-24f;
      return sign != 0 ? -value : value;
    }
    const std::uint32_t high = exponent == 31 ? 0x7f800000 : (exponent + 112) << 23;
    return std::bit_cast<float>(sign | high | mantissa << 13);
  }

  static std::uint16_t encode(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = all >> 16 & 0x8000, magnitude = all & 0x7fffffff;
    std::uint32_t out = 0;
    if (magnitude > 0x7f800000) {
      out = 0x7e00;  // not a number
    } else if (magnitude >= 0x47800000) {
      out = 0x7c00;  // infinity
    } else if (magnitude < 0x38800000) {
      out =
          static_cast<std::uint32_t>(std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24f));  // subnormal
    } else {
      const std::uint32_t rebased = magnitude - 0x38000000;
      out = (rebased + 0xfff + (rebased >> 13 & 1)) >> 13;
    }
    return static_cast<std::uint16_t>(sign | out);
  }

  std::uint16_t bits_ = 0;
};

// bfloat16: the upper half of a float.
class Bfloat16 {
 public:
  Bfloat16() = default;
  explicit Bfloat16(float value) : bits_(encode(value)) {}
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16); }

 private:
  static std::uint16_t encode(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    if ((all & 0x7fffffff) > 0x7f800000) {
      return static_cast<std::uint16_t>(all >> 16 | 0x40);  // not a number stays one
    }
    return static_cast<std::uint16_t>((all + 0x7fff + (all >> 16 & 1)) >> 16);
  }

  std::uint16_t bits_ = 0;
};

}  // namespace fakecuda::kernels
