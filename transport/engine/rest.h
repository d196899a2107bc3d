// How long an engine without work goes without a turn.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace tfabric::engine {

// A thread that turns an engine sleeps for a tenth of the time for which there was nothing to do, so that
// what comes after a pause is late by a tenth of it, and an idle process wakes 45 times a second. A peer that
// has heard nothing for as long allows for it (stack::Options::max_peer_rest).
inline constexpr int kRestShare = 10;
inline constexpr Duration kMostRest = std::chrono::milliseconds(22);

[[nodiscard]] inline Duration rest_after(Duration idle, Duration least) {
  return std::clamp<Duration>(idle / kRestShare, least, kMostRest);
}

}  // namespace tfabric::engine
