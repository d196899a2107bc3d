// Whether a connection's segments still reach its peer. Forward progress proves that they do (RFC 4861
// §7.3.1). Time-outs and repetitions without progress cast doubt on the next hop, of which the layer below
// has to be told (RFC 1122 §4.2.3.5): its link address may have changed. Private to one connection.
#pragma once

#include <utility>

#include "base/time.h"

namespace tfabric::stack {

class PathDoubt {
 public:
  // New bytes were acknowledged, or have arrived in order. Called for each such segment.
  void on_progress(Instant now) { progress_ = now; }
  // The retransmission timer has expired, the peer has left a probe of its window unanswered, or it repeats
  // bytes that have arrived, since it does not receive our acknowledgements. What comes in one burst counts
  // once.
  void on_sign(Instant now) {
    if (signs_ > 0 && now == last_sign_) {
      return;
    }
    signs_ = progress_ >= last_sign_ ? 1 : signs_ + 1;
    last_sign_ = now;
    raised_ = raised_ || signs_ >= kThreshold;
  }
  // The peer has not answered a keep-alive probe, of which there are few.
  void raise() { raised_ = true; }
  // Returns true once for each time that there was a reason to doubt.
  bool take() { return raised_ && std::exchange(raised_, false); }
  // When there was progress last; zero: never.
  [[nodiscard]] Instant progress() const { return progress_; }

 private:
  static constexpr int kThreshold = 3;  // RFC 1122 §4.2.3.5: R1 is at least 3 retransmissions

  Instant progress_{}, last_sign_{};
  int signs_ = 0;  // in a row, without progress
  bool raised_ = false;
};

}  // namespace tfabric::stack
