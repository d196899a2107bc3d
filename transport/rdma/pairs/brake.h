// What a rehearsed fault holds back of a port's queue pairs (docs/rehearsal.md). The carrier sets it between
// two of their calls.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "transport/engine/fault_schedule.h"

namespace tfabric::rdma::pairs {

class Brake {
 public:
  // Nothing goes out just now: what is posted waits, and seems to be on the way.
  [[nodiscard]] bool holds() const { return holds_; }
  // So many bytes go out.
  void take(std::uint64_t bytes) {
    if (rate_ > 0) {
      debt_ += static_cast<double>(bytes);
      holds_ = is_silent_ || debt_ > 0;
    }
  }

  // The effect of the faults, now. Returns true if nothing is held any more.
  bool set(const engine::FaultEffect& effect, Instant now) {
    const bool before = holds();
    const double passed = std::chrono::duration<double>(now - set_at_).count();
    is_silent_ = effect.nothing_out;
    rate_ = effect.rate;
    debt_ = rate_ == 0 ? 0 : std::max(-kBurst * bytes_a_second(), debt_ - passed * bytes_a_second());
    set_at_ = now;
    holds_ = is_silent_ || debt_ > 0;
    return before && !holds_;
  }

 private:
  static constexpr double kBurst = 0.002;  // s: longer than the carrier takes until it looks again
  static constexpr double kBitsOfByte = 8;
  [[nodiscard]] double bytes_a_second() const { return static_cast<double>(rate_) / kBitsOfByte; }

  bool is_silent_ = false, holds_ = false;
  std::uint64_t rate_ = 0;  // bit/s; 0: no limit
  double debt_ = 0;         // bytes that went out too early
  Instant set_at_{};
};

}  // namespace tfabric::rdma::pairs
