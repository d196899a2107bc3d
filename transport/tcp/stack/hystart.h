// HyStart++ (RFC 9406): slow start ends when the round-trip time grows, before the queue overflows.
//
// A round whose least RTT exceeds that of the round before by a threshold leads to conservative slow start,
// which grows a quarter as fast. It ends slow start after five rounds, or goes back if the RTT falls again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace tfabric::stack {

class HyStart {
 public:
  struct Ack {
    std::uint64_t snd_una = 0, snd_nxt = 0;
    Duration rtt{};  // zero: no sample
  };
  // For each acknowledgement in slow start. Returns true when slow start is over.
  bool on_ack(const Ack& ack) {
    bool over = false;
    if (ack.snd_una >= window_end_) {
      over = end_round(ack.snd_nxt);
    }
    if (ack.rtt > Duration::zero()) {
      current_round_min_rtt_ = std::min(current_round_min_rtt_, ack.rtt);
      ++rtt_sample_count_;
    }
    if (rtt_sample_count_ >= kNRttSample && current_round_min_rtt_ != kNone) {
      judge();
    }
    return over;
  }
  // By how many bytes the window grows for `acked`.
  [[nodiscard]] std::uint64_t growth(std::uint64_t acked) const {
    return conservative_ ? acked / kCssGrowthDivisor : acked;
  }
  // Slow start begins again.
  void restart() { *this = {}; }
  [[nodiscard]] bool conservative() const { return conservative_; }

 private:
  // RFC 9406 §4.3, except for the least threshold: its 4 ms are many round trips of a data centre, where a
  // queue of 200 us is a long one. L, the limit of growth by one acknowledgement, is omitted: a burst is
  // acknowledged as a whole here, and with L the window would not double in a round.
  static constexpr Duration kMinRttThresh = std::chrono::microseconds(200);
  static constexpr Duration kMaxRttThresh = std::chrono::milliseconds(16);
  static constexpr int kMinRttDivisor = 8;
  static constexpr std::uint32_t kNRttSample = 8;
  static constexpr std::uint64_t kCssGrowthDivisor = 4;
  static constexpr std::uint32_t kCssRounds = 5;
  static constexpr Duration kNone = Duration::max();

  bool end_round(std::uint64_t snd_nxt) {
    window_end_ = snd_nxt;
    last_round_min_rtt_ = current_round_min_rtt_;
    current_round_min_rtt_ = kNone;
    rtt_sample_count_ = 0;
    return conservative_ && ++css_rounds_ >= kCssRounds;
  }
  void judge() {
    if (conservative_) {
      conservative_ = current_round_min_rtt_ >= css_baseline_min_rtt_;
      return;
    }
    if (last_round_min_rtt_ == kNone) {
      return;
    }
    const Duration threshold =
        std::clamp<Duration>(last_round_min_rtt_ / kMinRttDivisor, kMinRttThresh, kMaxRttThresh);
    if (current_round_min_rtt_ >= last_round_min_rtt_ + threshold) {
      conservative_ = true;
      css_baseline_min_rtt_ = current_round_min_rtt_;
      css_rounds_ = 0;
    }
  }

  std::uint64_t window_end_ = 0;  // of the round
  Duration last_round_min_rtt_ = kNone, current_round_min_rtt_ = kNone;
  Duration css_baseline_min_rtt_ = kNone;
  std::uint32_t rtt_sample_count_ = 0, css_rounds_ = 0;
  bool conservative_ = false;
};

}  // namespace tfabric::stack
