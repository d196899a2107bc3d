#include "transport/tcp/stack/cubic.h"

#include <algorithm>
#include <cmath>

#include "transport/tcp/stack/bottleneck.h"
#include "transport/tcp/stack/dctcp.h"

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
  curve_.epoch_started = true;
  curve_.epoch = now;
  curve_.origin = static_cast<double>(cwnd_) / mss_;
  curve_.w_est = curve_.origin;
  if (curve_.w_max < curve_.origin) {
    curve_.w_max = curve_.origin;
  }
  curve_.k = std::cbrt((curve_.w_max - curve_.origin) / kC);  // RFC 9438 §4.2, figure 2
}

void Cubic::on_ack(const AckSample& sample) {
  if (sample.in_recovery || !sample.validated) {
    return;
  }
  if (!in_slow_start()) {
    avoid_congestion(sample);
    return;
  }
  if (hystart_.on_ack({.snd_una = sample.snd_una, .snd_nxt = sample.snd_nxt, .rtt = sample.rtt})) {
    ssthresh_ = cwnd_;
  }
  cwnd_ += hystart_.growth(sample.growth);  // RFC 5681 §3.1 with appropriate byte counting
}

void Cubic::avoid_congestion(const AckSample& sample) {
  if (!curve_.epoch_started) {
    start_epoch(sample.now);
  }
  const double segments = static_cast<double>(cwnd_) / mss_;
  const double acked_segments = static_cast<double>(sample.growth) / mss_;
  const double t = std::chrono::duration<double>(sample.now - curve_.epoch + sample.srtt).count();
  // RFC 9438 §4.2: the target is W_cubic(t + RTT), within [cwnd, 1.5 cwnd].
  const double cubic = kC * std::pow(t - curve_.k, 3) + curve_.w_max;
  const double target = std::clamp(cubic, segments, 1.5 * segments);
  const double alpha = curve_.w_est >= curve_.w_max ? 1.0 : kAlpha;
  curve_.w_est += alpha * acked_segments / segments;  // RFC 9438 §4.3
  const double grown = std::max(segments + (target - segments) / segments * acked_segments, curve_.w_est);
  cwnd_ = std::max(cwnd_, static_cast<std::uint64_t>(grown * mss_));
}

void Cubic::reduce(std::uint64_t flight) {
  saved_ = {.cwnd = cwnd_, .ssthresh = ssthresh_, .curve = curve_};
  const double segments = static_cast<double>(cwnd_) / mss_;
  // RFC 9438 §4.7: fast convergence.
  curve_.w_max = segments < curve_.w_max ? segments * (1.0 + kBeta) / 2.0 : segments;
  const auto base = static_cast<double>(std::min(flight, cwnd_));
  ssthresh_ = std::max(static_cast<std::uint64_t>(base * kBeta), std::uint64_t{kMinSegments} * mss_);
  curve_.epoch_started = false;
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
  hystart_.restart();
  curve_.epoch_started = false;
}

void Cubic::on_undo() {
  cwnd_ = std::max(cwnd_, saved_.cwnd);
  ssthresh_ = saved_.ssthresh;
  curve_ = saved_.curve;
}

// The factory of all algorithms; here because CUBIC is the default.
std::unique_ptr<CongestionControl> make_congestion_control(CongestionAlgorithm algorithm, std::uint32_t mss,
                                                           std::uint64_t initial_window) {
  switch (algorithm) {
    case CongestionAlgorithm::dctcp:
      return std::make_unique<Dctcp>(mss, initial_window);
    case CongestionAlgorithm::bottleneck:
      return std::make_unique<Bottleneck>(mss, initial_window);
    case CongestionAlgorithm::cubic:
      break;
  }
  return std::make_unique<Cubic>(mss, initial_window);
}

}  // namespace tfabric::stack
