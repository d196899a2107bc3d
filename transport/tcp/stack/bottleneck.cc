#include "transport/tcp/stack/bottleneck.h"

#include <algorithm>
#include <array>
#include <limits>

#include "transport/tcp/stack/pacer.h"

namespace tfabric::stack {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
// Pacing gains by phase, in percent. 277: draft-ietf-ccwg-bbr §2.4; the others §5.3.3.
constexpr std::array<std::uint64_t, 5> kPacingGain = {277, 36, 100, 125, 75};
constexpr std::uint64_t kWindowGain = 2;           // draft-ietf-ccwg-bbr §2.5
constexpr std::uint32_t kRoundsWithoutGrowth = 3;  // §5.3.1.2: then the pipe is full
constexpr std::uint64_t kGrowth = 125;             // percent, §5.3.1.2
constexpr std::uint64_t kLossPercent = 2;          // §2.7: BBR.LossThresh
// Fewer losses in a round (§5.3.1.3, which says it for startup only) are taken for random ones, unless they
// are a third of the round: one of a dozen segments is more than kLossPercent, and on a path with random
// losses the window would never grow.
constexpr std::uint64_t kLeastLosses = 6;
constexpr std::uint64_t kNoChancePercent = 33;
constexpr std::uint64_t kLimitPercent = 70;              // §2.7: BBR.Beta
constexpr std::uint32_t kLeastWait = 8, kMostWait = 64;  // rounds between probes
constexpr std::uint64_t kLeastSegments = 4;              // §2.7: BBR.MinPipeCwnd
constexpr std::uint64_t kMicroseconds = 1'000'000;       // a second

// Rounds up: the result is never zero.
std::uint64_t microseconds(Duration time) {
  return static_cast<std::uint64_t>(time / std::chrono::microseconds(1)) + 1;
}

}  // namespace

Bottleneck::Bottleneck(std::uint32_t mss, std::uint64_t initial_window)
    : CongestionControl(mss, initial_window),
      initial_window_(initial_window),
      rate_limit_(kNoLimit),
      wait_rounds_(kLeastWait) {
  uses_prr_ = false;
}

std::uint64_t Bottleneck::bandwidth() const {
  return std::min(std::max(max_rate_, previous_max_rate_), rate_limit_);
}

std::uint64_t Bottleneck::bdp(Duration min_rtt) const {
  return bandwidth() * microseconds(min_rtt) / kMicroseconds;
}

// The data sent last was answered by losses or marks.
void Bottleneck::limit_rate() { rate_limit_ = std::max(round_rate_, bandwidth() / 100 * kLimitPercent); }

void Bottleneck::take_rate(const AckSample& sample) {
  round_delivered_ += sample.delivered;
  round_lost_ += sample.lost;
  if (sample.rate.interval == Duration::zero()) {
    return;
  }
  const auto interval = static_cast<std::uint64_t>(sample.rate.interval.count());
  const std::uint64_t rate = sample.rate.bytes * 1'000'000'000u / interval;
  round_rate_ = std::max(round_rate_, rate);
  if (!sample.rate.app_limited || rate >= max_rate_) {
    max_rate_ = std::max(max_rate_, rate);
  }
}

void Bottleneck::end_round(const AckSample& sample) {
  const std::uint64_t share = round_lost_ < kLeastLosses * mss_ ? kNoChancePercent : kLossPercent;
  lossy_ = round_lost_ * 100 > (round_delivered_ + round_lost_) * share;
  if (lossy_ && round_rate_ > 0) {
    limit_rate();
  }
  if (phase_ == Phase::startup && !sample.rate.app_limited) {
    if (max_rate_ * 100 >= full_rate_ * kGrowth) {
      full_rate_ = max_rate_;
      rounds_without_growth_ = 0;
    } else {
      ++rounds_without_growth_;
    }
  }
  round_ends_ = sample.delivered_total;
  round_delivered_ = round_lost_ = round_rate_ = 0;
  ++rounds_;
}

void Bottleneck::start_cruise() {
  phase_ = Phase::cruise;
  rounds_ = 0;
}

void Bottleneck::next_phase(const AckSample& sample, bool round_ended) {
  const bool drained = sample.in_flight <= bdp(sample.min_rtt);
  switch (phase_) {
    case Phase::startup:
      if (round_ended && (rounds_without_growth_ >= kRoundsWithoutGrowth || lossy_)) {
        phase_ = Phase::drain;
      }
      break;
    case Phase::drain:
    case Phase::probe_down:
      if (drained) {
        start_cruise();
      }
      break;
    case Phase::cruise:
      if (rounds_ >= wait_rounds_) {
        phase_ = Phase::probe_up;
        rounds_ = 0;
        previous_max_rate_ = max_rate_;
        max_rate_ = 0;
        rate_limit_ = kNoLimit;
      }
      break;
    case Phase::probe_up:
      // The first round ends with data that was sent before the probe: only the second one shows its effect.
      if (round_ended && (rounds_ >= 2 || lossy_)) {
        wait_rounds_ = lossy_ ? std::min(2 * wait_rounds_, kMostWait) : kLeastWait;
        phase_ = Phase::probe_down;
      }
      break;
  }
}

void Bottleneck::set_window(const AckSample& sample) {
  const std::uint64_t rate = bandwidth();
  if (rate == 0 || sample.min_rtt == Duration::zero()) {
    cwnd_ += sample.delivered;
    return;
  }
  // The samples of an application that sends little are small: they are no reason to send slower than the
  // least window allows.
  const std::uint64_t least = phase_ == Phase::startup ? initial_window_ : kLeastSegments * mss_;
  pacing_rate_ = std::max(rate / 100 * kPacingGain[static_cast<std::size_t>(phase_)],
                          std::max<std::uint64_t>(least * kMicroseconds / microseconds(sample.min_rtt), 1));
  // Room for the bursts of both ends, for one acknowledgement for each burst, and for acknowledgements in
  // batches.
  const std::uint64_t burst = std::min<std::uint64_t>(Pacer::kMaxBurstBytes, rate / 1000);
  const std::uint64_t target =
      std::max(kWindowGain * bdp(sample.min_rtt) + 3 * burst + aggregation_.excess(), kLeastSegments * mss_);
  if (phase_ != Phase::startup) {
    cwnd_ = std::min(cwnd_ + sample.delivered, target);
  } else if (cwnd_ < target || sample.delivered_total < initial_window_) {
    cwnd_ += sample.delivered;
  }
}

void Bottleneck::on_ack(const AckSample& sample) {
  take_rate(sample);
  aggregation_.on_ack(sample.delivered, bandwidth(), cwnd_, sample.now);
  const bool round_ended =
      sample.rate.interval > Duration::zero() && sample.rate.prior_delivered >= round_ends_;
  if (round_ended) {
    end_round(sample);
    aggregation_.on_round();
  }
  next_phase(sample, round_ended);
  set_window(sample);
}

// Losses are judged at the end of a round: a single one has no meaning.
void Bottleneck::on_loss(std::uint64_t) { saved_cwnd_ = cwnd_; }

void Bottleneck::on_rto(std::uint64_t, bool repeated) {
  if (!repeated) {
    saved_cwnd_ = cwnd_;
  }
  cwnd_ = mss_;  // grows again with the acknowledgements
}

void Bottleneck::on_ecn(std::uint64_t) { limit_rate(); }

void Bottleneck::on_undo() { cwnd_ = std::max(cwnd_, saved_cwnd_); }

}  // namespace tfabric::stack
