// Whether the congestion window is in use (RFC 7661). The bursts of an application that sends little do not
// show what the path would carry, so that the window must not grow because of them.
//
// pipeACK is the largest volume acknowledged in a round trip within the last sampling period. The window
// counts as validated if more than half of it was in flight in the round trip at hand, or was acknowledged
// in such a round. So slow start ends with a window of twice what was in use, as after one of its rounds. The
// window is not reduced after a long time without validation (RFC 7661 §4.4): gaps between collectives last
// milliseconds, and losses correct a window that has become too large.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace tfabric::stack {

class CwndValidation {
 public:
  // snd_una has moved from `before` to `snd_una`; positions are offsets in the stream.
  void on_ack(std::uint64_t before, std::uint64_t snd_una, std::uint64_t snd_nxt, Duration srtt,
              Instant now) {
    if (!in_round_) {
      start_round(before, snd_nxt);
    }
    flight_ = std::max(flight_, snd_nxt - before);
    if (snd_una < round_end_) {
      return;
    }
    if (now >= period_end_) {
      previous_ = current_;
      current_ = 0;
      // RFC 7661 §4.2: the sampling period. Half of it, as two are remembered.
      period_end_ = now + std::max<Duration>(3 * srtt, std::chrono::seconds(1)) / 2;
    }
    current_ = std::max(current_, snd_una - round_start_);
    start_round(snd_una, snd_nxt);
  }
  // Data is sent without anything in flight: a round trip begins with it.
  void on_idle() { in_round_ = false; }

  [[nodiscard]] std::uint64_t pipe_ack() const { return std::max(previous_, current_); }
  // RFC 7661 §4.3. `flight`: the bytes in flight before the current acknowledgement.
  [[nodiscard]] bool validated(std::uint64_t flight, std::uint64_t cwnd) const {
    return 2 * used(flight) > cwnd;
  }
  // How much of the window was in use. A congestion event reduces the window to a share of this (RFC 7661
  // §4.4.1), not of `flight`: when the last packet of a burst is lost, nothing else is in flight, but the
  // burst was too much for the path.
  [[nodiscard]] std::uint64_t used(std::uint64_t flight) const {
    return std::max({flight, in_round_ ? flight_ : 0, pipe_ack()});
  }

 private:
  void start_round(std::uint64_t from, std::uint64_t to) {
    in_round_ = true;
    flight_ = to - from;
    round_start_ = from;
    round_end_ = to;
  }

  bool in_round_ = false;
  std::uint64_t round_start_ = 0, round_end_ = 0;
  std::uint64_t flight_ = 0;  // the most bytes in flight in this round
  std::uint64_t previous_ = 0, current_ = 0;
  Instant period_end_{};
};

}  // namespace tfabric::stack
