// Round-trip times: the smoothed one and the retransmission time-out (RFC 6298), and the least of the last
// seconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace tfabric::stack {

class RttEstimator {
 public:
  // `granularity`: G of RFC 6298 §2.3, the least margin of the time-out above the smoothed round-trip time.
  RttEstimator(Duration initial_rto, Duration min_rto, Duration max_rto,
               Duration granularity = Duration::zero())
      : min_rto_(min_rto), max_rto_(max_rto), granularity_(granularity), base_(initial_rto) {}

  void on_sample(Duration rtt);
  // RFC 6298 §5.5: doubles the time-out, after the timer has expired.
  void back_off() { shift_ = std::min(shift_ + 1, 16); }
  // For a connection that begins (RFC 6298 §5.7). Otherwise only a sample ends the back-off (§5, Karn's
  // algorithm): if the round trip has become longer than the time-out, each segment is sent twice, and its
  // acknowledgement is no sample.
  void reset_backoff() { shift_ = 0; }

  [[nodiscard]] Duration rto() const;
  [[nodiscard]] Duration srtt() const { return srtt_; }
  [[nodiscard]] Duration rttvar() const { return rttvar_; }
  [[nodiscard]] bool has_sample() const { return srtt_ != Duration::zero(); }

 private:
  Duration min_rto_;
  Duration max_rto_;
  Duration granularity_;
  Duration base_;
  Duration srtt_{};
  Duration rttvar_{};
  int shift_ = 0;
};

inline void RttEstimator::on_sample(Duration rtt) {
  rtt = std::max(rtt, Duration(1));
  reset_backoff();
  if (srtt_ == Duration::zero()) {
    srtt_ = rtt;  // RFC 6298 §2.2
    rttvar_ = rtt / 2;
  } else {
    const Duration error = srtt_ > rtt ? srtt_ - rtt : rtt - srtt_;
    rttvar_ += (error - rttvar_) / 4;  // RFC 6298 §2.3: beta = 1/4, alpha = 1/8
    srtt_ += (rtt - srtt_) / 8;
    srtt_ = std::max(srtt_, Duration(1));
  }
  base_ = srtt_ + std::max(granularity_, 4 * rttvar_);
}

inline Duration RttEstimator::rto() const {
  const Duration floor = std::clamp(base_, min_rto_, max_rto_);
  return std::min(floor * (std::int64_t{1} << shift_), max_rto_);
}

// The least round-trip time of the last seconds: what the path takes with empty queues (RACK.min_RTT, RFC
// 8985 §6.2 step 1). The minimum is windowed, because paths change.
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
