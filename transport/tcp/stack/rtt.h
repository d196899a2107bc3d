// Round-trip time and retransmission time-out (RFC 6298).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace tfabric::stack {

class RttEstimator {
 public:
  // `granularity`: the G of RFC 6298 §2.3, the least that the time-out is above the smoothed round-trip time.
  RttEstimator(Duration initial_rto, Duration min_rto, Duration max_rto,
               Duration granularity = Duration::zero())
      : min_rto_(min_rto), max_rto_(max_rto), granularity_(granularity), base_(initial_rto) {}

  void on_sample(Duration rtt);
  // RFC 6298 §5.5: the timer has expired.
  void back_off() { shift_ = std::min(shift_ + 1, 16); }
  // Of a connection that begins (RFC 6298 §5.7). Otherwise only a sample ends it (§5, Karn's algorithm):
  // where the round trip has become longer than the time-out, each segment is sent twice, and its
  // acknowledgement tells nothing.
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

}  // namespace tfabric::stack
