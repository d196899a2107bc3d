#include "transport/flows/flow_planner.h"

#include <algorithm>
#include <cmath>

namespace tfabric::flows {
namespace {

// How many samples new flows get to leave slow start, and queues to fill.
constexpr std::uint32_t kSettle = 6;
// A search that takes longer would compare with a rate that is too old.
constexpr Duration kSearchPatience = std::chrono::minutes(1);
// Fewer flows are enough if they carry this share of the rate.
constexpr double kAsMuch = 0.95;
// If the rate differs by more than this factor, up or down, the last search's result may no longer be right,
// and a new search begins …
constexpr double kMuchLess = 0.7, kMuchMore = 1.4;
constexpr std::uint32_t kShiftedWindows = 2;
// … but not this soon after a search, which changes the rate itself.
constexpr Duration kShiftPause = std::chrono::seconds(2);
// By how many standard errors two rates must differ: by chance they do so once in 700 comparisons.
constexpr double kErrors = 3;

// How many windows are measured, one after the other, while they scatter too much to decide whether more
// flows are worthwhile. With each window, chance gets another try.
constexpr std::uint32_t kLooks = 3;

// Flows are added in proportion: with many flows, a single one more would change less than what is
// worthwhile.
constexpr std::uint32_t more_than(std::uint32_t flows) { return flows + std::max(1u, (flows + 1) / 2); }

bool more(const RateWindow& candidate, const RateWindow& base) {
  return candidate.mean() - base.mean() > FlowPlanner::kWorthwhile * base.mean();
}

bool clearly_more(const RateWindow& candidate, const RateWindow& base) {
  return more(candidate, base) && candidate.mean() - base.mean() >
                                      kErrors * std::sqrt(candidate.mean_variance() + base.mean_variance());
}

}  // namespace

void RateWindow::add(const PathSample& sample) {
  if (sample.comms != comms_) {
    *this = {};
    comms_ = sample.comms;
  }
  const double rate =
      static_cast<double>(sample.delivered) / std::chrono::duration<double>(sample.busy).count();
  ++samples_;
  limited_ += sample.network_limited ? 1 : 0;
  sum_ += rate;
  squares_ += rate * rate;
}

double RateWindow::mean() const { return samples_ == 0 ? 0 : sum_ / samples_; }

double RateWindow::mean_variance() const {
  if (samples_ < 2) {
    return 0;
  }
  const double variance = (squares_ - sum_ * mean()) / (samples_ - 1);
  return std::max(variance, 0.0) / samples_;
}

void FlowPlanner::on_sample(const PathSample& sample, Instant now) {
  if (searching() && now - since_ > kSearchPatience) {
    finish(now);
  }
  if (sample.comms == 0 || sample.busy <= Duration::zero() || !sample.ready) {
    return;
  }
  if (skip_ > 0) {
    --skip_;
    return;
  }
  window_.add(sample);
  if (window_.full()) {
    on_window(std::exchange(window_, {}), now);
  }
}

void FlowPlanner::on_window(const RateWindow& window, Instant now) {
  if (!searching()) {
    on_settled_window(window, now);
    return;
  }
  if (window.comms() != base_.comms()) {
    finish(now);  // the number of comms has changed: the rates cannot be compared
    return;
  }
  if (phase_ == Phase::up) {
    if (!clearly_more(window, base_)) {
      // The rate of a new flow that had many losses at its start scatters for a while.
      if (!more(window, base_) || ++looks_ == kLooks) {
        try_fewer(now);
      }
      return;
    }
    too_few_ = best_;
    best_ = flows_;
    base_ = window;
    try_more(now);
    return;
  }
  // `base_` stays: small losses at each step would otherwise add up.
  (window.mean() >= kAsMuch * base_.mean() ? best_ : too_few_) = flows_;
  try_fewer(now);
}

void FlowPlanner::on_settled_window(const RateWindow& window, Instant now) {
  if (!window.network_limited()) {
    return;
  }
  const double mean = window.mean();
  if (window.comms() != rate_comms_) {
    rate_comms_ = window.comms();
    rate_ = mean;
    shifted_ = 0;
  }
  const bool shifted = mean < kMuchLess * rate_ || mean > kMuchMore * rate_;
  shifted_ = shifted && now >= earliest_ ? shifted_ + 1 : 0;
  if (now >= retry_at_ || shifted_ >= kShiftedWindows) {
    search(window, now);
  } else if (!shifted) {
    constexpr double kWeight = 0.1;
    rate_ += kWeight * (mean - rate_);
  }
}

void FlowPlanner::search(const RateWindow& base, Instant now) {
  ++searches_;
  since_ = now;
  origin_ = best_ = highest_ = flows_;
  origin_rate_ = base.mean();
  too_few_ = 0;
  base_ = base;
  try_more(now);
}

void FlowPlanner::try_more(Instant now) {
  const std::uint32_t next = std::min(more_than(best_), options_.most);
  if (next <= best_) {
    try_fewer(now);
  } else {
    use(next, Phase::up);
  }
}

// Bisects between too few flows and enough.
void FlowPlanner::try_fewer(Instant now) {
  if (best_ - too_few_ <= 1) {
    finish(now);
  } else {
    use((best_ + too_few_) / 2, Phase::down);
  }
}

void FlowPlanner::use(std::uint32_t flows, Phase phase) {
  flows_ = flows;
  highest_ = std::max(highest_, flows);
  phase_ = phase;
  skip_ = kSettle;
  window_ = {};
  looks_ = 0;
}

void FlowPlanner::finish(Instant now) {
  use(best_, Phase::settled);
  rate_ = base_.mean();
  rate_comms_ = base_.comms();
  shifted_ = 0;
  retry_ = best_ == origin_ ? std::min<Duration>(2 * retry_, kLastRetry) : kFirstRetry;
  retry_at_ = now + retry_;
  earliest_ = now + kShiftPause;
  if (best_ != origin_) {
    decision_ = Decision{origin_, best_, origin_rate_, rate_};
  }
}

}  // namespace tfabric::flows
