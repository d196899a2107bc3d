#include "transport/tcp/stack/cubic.h"

#include <algorithm>
#include <cmath>

namespace tfabric::stack {
namespace {

constexpr double kC = 0.4;     // RFC 9438 §5
constexpr double kBeta = 0.7;  // RFC 9438 §4.6
// RFC 9438 §4.3: alpha of the Reno-friendly region.
constexpr double kAlpha = 3.0 * (1.0 - kBeta) / (1.0 + kBeta);
constexpr std::uint32_t kMinSegments = 2;

}  // namespace

Cubic::Cubic(std::uint32_t mss, std::uint64_t initial_window) : CongestionControl(mss, initial_window) {}

void Cubic::start_epoch(Instant now) {
  epoch_started_ = true;
  epoch_ = now;
  origin_ = static_cast<double>(cwnd_) / mss_;
  w_est_ = origin_;
  if (w_max_ < origin_) {
    w_max_ = origin_;
  }
  k_ = std::cbrt((w_max_ - origin_) / kC);  // RFC 9438 §4.2, figure 2
}

void Cubic::on_ack(const AckSample& sample) {
  if (sample.in_recovery || !sample.validated) {
    return;
  }
  if (in_slow_start()) {
    cwnd_ += sample.acked;  // RFC 5681 §3.1 with appropriate byte counting; the receiver bounds bursts
  } else {
    avoid_congestion(sample);
  }
}

void Cubic::avoid_congestion(const AckSample& sample) {
  if (!epoch_started_) {
    start_epoch(sample.now);
  }
  const double segments = static_cast<double>(cwnd_) / mss_;
  const double acked_segments = static_cast<double>(sample.acked) / mss_;
  const double t = std::chrono::duration<double>(sample.now - epoch_ + sample.srtt).count();
  // RFC 9438 §4.2: the target is W_cubic(t + RTT), within [cwnd, 1.5 cwnd].
  const double cubic = kC * std::pow(t - k_, 3) + w_max_;
  const double target = std::clamp(cubic, segments, 1.5 * segments);
  const double alpha = w_est_ >= w_max_ ? 1.0 : kAlpha;
  w_est_ += alpha * acked_segments / segments;  // RFC 9438 §4.3
  const double grown = std::max(segments + (target - segments) / segments * acked_segments, w_est_);
  cwnd_ = std::max(cwnd_, static_cast<std::uint64_t>(grown * mss_));
}

void Cubic::reduce(std::uint64_t flight) {
  const double segments = static_cast<double>(cwnd_) / mss_;
  // RFC 9438 §4.7: fast convergence.
  w_max_ = segments < w_max_ ? segments * (1.0 + kBeta) / 2.0 : segments;
  const auto base = static_cast<double>(std::min(flight, cwnd_));
  ssthresh_ = std::max(static_cast<std::uint64_t>(base * kBeta), std::uint64_t{kMinSegments} * mss_);
  epoch_started_ = false;
}

void Cubic::on_loss(std::uint64_t flight) {
  reduce(flight);
  cwnd_ = ssthresh_;
}

void Cubic::on_rto(std::uint64_t flight, bool repeated) {
  if (!repeated) {
    reduce(flight);
  }
  cwnd_ = mss_;
  epoch_started_ = false;
}

}  // namespace tfabric::stack
