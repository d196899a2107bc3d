// When to ask a silent peer whether it is still there.
//
// Who waits for data, or for an announcement, has nothing under way that could fail, and would wait for ever
// for a peer that has died. After `silence` without a completion each queue pair is asked to carry an empty
// write: if nobody acknowledges it, it fails as any other (after timeout and retries). The clock is read only
// once in kQuietTurns turns that found nothing, so that it costs nothing where something happens.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tfabric::rdma {

class Heartbeat {
 public:
  static constexpr std::uint32_t kQuietTurns = 256;

  Heartbeat(Duration silence, Instant (*now)()) : silence_(silence), now_(now) {}

  void heard() {
    turns_ = 0;
    since_ = kNever;
  }
  // A turn that found nothing. True: ask now.
  bool quiet_turn() {
    if (++turns_ < kQuietTurns) {
      return false;
    }
    turns_ = 0;
    const Instant now = now_();
    if (since_ == kNever) {
      since_ = now;
    }
    if (now - since_ < silence_) {
      return false;
    }
    since_ = now;
    return true;
  }

 private:
  Duration silence_;
  Instant (*now_)();
  std::uint32_t turns_ = 0;
  Instant since_ = kNever;
};

}  // namespace tfabric::rdma
