// The least round-trip time of the last seconds: what the path takes with empty queues (RACK.min_RTT,
// RFC 8985 §6.2 step 1: a windowed minimum, as paths change).
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace tfabric::stack {

class MinRtt {
 public:
  void on_sample(Duration rtt, Instant now) {
    if (now >= half_ends_) {
      previous_ = now >= half_ends_ + kHalfWindow ? kNone : current_;
      current_ = kNone;
      half_ends_ = now + kHalfWindow;
    }
    current_ = std::min(current_, rtt);
  }
  // Zero: not known yet.
  [[nodiscard]] Duration value() const {
    const Duration least = std::min(previous_, current_);
    return least == kNone ? Duration::zero() : least;
  }

 private:
  static constexpr Duration kHalfWindow = std::chrono::seconds(5);
  static constexpr Duration kNone = Duration::max();
  Duration previous_ = kNone, current_ = kNone;
  Instant half_ends_{};
};

}  // namespace tfabric::stack
