// When the next segment may leave, at a rate that congestion control sets.
//
// Segments leave in bursts, because drivers and peers work best with them: of a millisecond's worth at the
// rate, but at most 64 KB, since the rate limiters of clouds drop longer bursts at the speed of the NIC. If
// the engine is turned less often than that, the lost time is made up for, or else the turns would limit the
// rate: up to two milliseconds' worth at once, and the rest at twice the rate.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "base/time.h"

namespace tfabric::stack {

class Pacer {
 public:
  static constexpr std::uint64_t kMaxBurstBytes = 64 << 10;
  static constexpr Duration kMaxBurst = std::chrono::milliseconds(1);

  // Bytes a second; zero: no pacing. It divides at most once for each acknowledgement, and only if the rate
  // changes.
  void set_rate(std::uint64_t rate, Instant now) {
    if (rate == rate_) {
      return;
    }
    // The wait for what has left is computed anew at the faster rate: at the slow one it may be many round
    // trips.
    const bool faster = rate > rate_ && rate_ != 0;
    const std::uint64_t owed = faster && due_ > now ? bytes_in(due_ - now) : 0;
    rate_ = rate;
    picoseconds_per_byte_ = rate == 0 ? 0 : kPicoseconds / rate;
    burst_ = std::min<Duration>(kMaxBurst, time_of(kMaxBurstBytes));
    if (owed > 0) {
      due_ = std::min(due_, now + time_of(owed));
      next_ = std::min(next_, due_ + burst_ / 2);
    }
  }
  [[nodiscard]] std::uint64_t rate() const { return rate_; }

  [[nodiscard]] bool may_send(Instant now) {
    if (rate_ != 0 && now < next_) {
      waiting_ = true;
      return false;
    }
    if (waiting_) {
      waiting_ = false;
      const Duration late = now - next_ + burst_ / 2;
      late_ = std::min<Duration>(late, kMaxBurst);
      debt_ = std::min<Duration>(debt_ + late - late_, kMaxDebt);
    }
    return true;
  }
  // When may_send() will return true, if it does not now.
  [[nodiscard]] Instant next() const { return next_; }
  // The bytes that are left of the current burst, while may_send() is true.
  [[nodiscard]] std::uint64_t room(Instant now) const {
    if (rate_ == 0) {
      return std::numeric_limits<std::uint64_t>::max();
    }
    const Duration left = now - std::max(due_, now - std::max(burst_, late_));
    return bytes_in(std::max<Duration>(left, Duration::zero()));
  }
  void on_sent(std::uint32_t bytes, Instant now) {
    if (rate_ == 0) {
      return;
    }
    // due_: when the bytes sent so far would all have left at exactly the rate. Time that was lost is made up
    // for, by at most a burst or the owner's delay. After a burst the next one waits until half a burst is
    // due, so that bursts do not shrink to single segments.
    const Duration time = time_of(bytes);
    const Duration waived = std::min(debt_, time / 2);
    debt_ -= waived;
    due_ = std::max(due_, now - std::max(burst_, late_)) + time - waived;
    next_ = now;
    if (due_ > now) {
      next_ = due_ + burst_ / 2;
      late_ = {};
    }
  }

 private:
  // A longer pause is not caused by a busy host.
  static constexpr Duration kMaxDebt = std::chrono::milliseconds(50);
  static constexpr std::uint64_t kPicoseconds = 1'000'000'000'000;  // in a second

  [[nodiscard]] Duration time_of(std::uint64_t bytes) const {
    return Duration(static_cast<Duration::rep>(bytes * picoseconds_per_byte_ / 1000));
  }
  [[nodiscard]] std::uint64_t bytes_in(Duration time) const {
    return static_cast<std::uint64_t>(time.count()) * 1000 /
           std::max<std::uint64_t>(picoseconds_per_byte_, 1);
  }

  std::uint64_t rate_ = 0;
  std::uint64_t picoseconds_per_byte_ = 0;
  Duration burst_{};
  Instant due_{}, next_{};
  bool waiting_ = false;  // a segment is ready and has to wait
  Duration late_{};       // the delay with which the current burst began
  Duration debt_{};       // the delay of earlier bursts that is not made up for yet
};

}  // namespace tfabric::stack
