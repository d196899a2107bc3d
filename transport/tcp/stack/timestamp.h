// The clock of the timestamps option. RFC 7323 §5.4 asks for 1 ms to 1 s a tick.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace tfabric::stack {

[[nodiscard]] inline std::uint32_t timestamp(Instant now) {
  return static_cast<std::uint32_t>(now.time_since_epoch() / std::chrono::milliseconds(1));
}

// `a` is before `b` on a clock that wraps.
[[nodiscard]] constexpr bool timestamp_before(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) < 0;
}

}  // namespace tfabric::stack
