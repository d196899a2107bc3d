#include "transport/tcp/stack/rtt.h"

namespace tfabric::stack {

void RttEstimator::on_sample(Duration rtt) {
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

Duration RttEstimator::rto() const {
  const Duration floor = std::clamp(base_, min_rto_, max_rto_);
  return std::min(floor * (std::int64_t{1} << shift_), max_rto_);
}

}  // namespace tfabric::stack
