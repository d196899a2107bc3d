// Sequence numbers (RFC 9293 §3.4): 32 bits that wrap, compared within half of the space.
#pragma once

#include <cstdint>

namespace tfabric {

class Seq {
 public:
  constexpr Seq() = default;
  constexpr explicit Seq(std::uint32_t raw) : raw_(raw) {}

  [[nodiscard]] constexpr std::uint32_t raw() const { return raw_; }

  // Signed distance: positive if `a` comes after `b`.
  friend constexpr std::int32_t operator-(Seq a, Seq b) { return static_cast<std::int32_t>(a.raw_ - b.raw_); }
  friend constexpr Seq operator+(Seq a, std::uint32_t n) { return Seq(a.raw_ + n); }
  friend constexpr Seq operator-(Seq a, std::uint32_t n) { return Seq(a.raw_ - n); }
  constexpr Seq& operator+=(std::uint32_t n) {
    raw_ += n;
    return *this;
  }
  friend constexpr bool operator==(Seq a, Seq b) = default;
  friend constexpr bool operator<(Seq a, Seq b) { return a - b < 0; }
  friend constexpr bool operator>(Seq a, Seq b) { return a - b > 0; }
  friend constexpr bool operator<=(Seq a, Seq b) { return a - b <= 0; }
  friend constexpr bool operator>=(Seq a, Seq b) { return a - b >= 0; }

 private:
  std::uint32_t raw_ = 0;
};

constexpr Seq max(Seq a, Seq b) { return a < b ? b : a; }
constexpr Seq min(Seq a, Seq b) { return a < b ? a : b; }

}  // namespace tfabric
