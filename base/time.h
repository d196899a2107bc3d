// The project's time: nanoseconds on a monotonic clock.
//
// Protocol code takes `Instant now` as an argument and never reads a clock, so that it also runs in a
// simulator's virtual time. Only the engine and the tools call monotonic_now().
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tfabric {

using Duration = std::chrono::nanoseconds;

// A clock tag without now(): an Instant cannot be mixed up with a wall-clock time.
struct MonotonicTag {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<MonotonicTag, Duration>;
  static constexpr bool is_steady = true;
};
using Instant = MonotonicTag::time_point;

// "Never": later than every other Instant.
inline constexpr Instant kNever = Instant::max();

[[nodiscard]] inline Instant monotonic_now() {
  return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

[[nodiscard]] inline std::chrono::milliseconds::rep in_milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// As pages and records have times (observe/layout.h).
[[nodiscard]] inline std::uint64_t in_nanoseconds(Duration duration) {
  return static_cast<std::uint64_t>(duration.count());
}
[[nodiscard]] inline std::uint64_t in_nanoseconds(Instant instant) {
  return in_nanoseconds(instant.time_since_epoch());
}

// For records with a field of 32 bits: what is more is cut, and what is less is 0.
[[nodiscard]] inline std::uint32_t in_milliseconds_u32(Duration duration) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(in_milliseconds(duration), 0, UINT32_MAX));
}

}  // namespace tfabric
