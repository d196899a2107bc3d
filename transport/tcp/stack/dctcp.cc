#include "transport/tcp/stack/dctcp.h"

#include <algorithm>

namespace tfabric::stack {
namespace {

constexpr std::uint32_t kGainShift = 4;  // RFC 8257 §4.2: g = 1/16
constexpr std::uint64_t kMinSegments = 2;

}  // namespace

// RFC 8257 §3.3, steps 1 to 7: once for each window of data.
void Dctcp::estimate(const AckSample& sample) {
  acked_ += sample.acked;
  marked_ += sample.marked;
  if (sample.snd_una < window_end_) {
    return;
  }
  if (acked_ > 0) {
    const auto share = static_cast<std::uint32_t>(marked_ * kOne / acked_);
    alpha_ = alpha_ - (alpha_ >> kGainShift) + (share >> kGainShift);
  }
  acked_ = marked_ = 0;
  window_end_ = sample.snd_nxt;
}

void Dctcp::on_ack(const AckSample& sample) {
  estimate(sample);
  if (sample.in_recovery || !sample.validated || sample.marked > 0) {
    return;
  }
  if (in_slow_start()) {
    cwnd_ += sample.growth;
    return;
  }
  grown_ += sample.growth;  // RFC 5681 §3.1, counted instead of divided
  if (grown_ >= cwnd_) {
    grown_ -= cwnd_;
    cwnd_ += mss_;
  }
}

void Dctcp::reduce_to(std::uint64_t window) {
  saved_cwnd_ = cwnd_;
  saved_ssthresh_ = ssthresh_;
  ssthresh_ = std::max(window, kMinSegments * mss_);
  grown_ = 0;
}

void Dctcp::on_loss(std::uint64_t flight) {
  reduce_to(std::min(flight, cwnd_) / 2);
  cwnd_ = ssthresh_;
}

void Dctcp::on_rto(std::uint64_t flight, bool repeated) {
  if (!repeated) {
    reduce_to(std::min(flight, cwnd_) / 2);
  }
  cwnd_ = mss_;
}

void Dctcp::on_ecn(std::uint64_t) {
  reduce_to(cwnd_ - (cwnd_ * alpha_ / kOne) / 2);
  cwnd_ = ssthresh_;
}

void Dctcp::on_undo() {
  cwnd_ = std::max(cwnd_, saved_cwnd_);
  ssthresh_ = saved_ssthresh_;
}

}  // namespace tfabric::stack
