// Whether a recovery was needless, because nothing was lost. Then the window is restored (RFC 4015).
//
// Undo looks at what came back: all that was retransmitted has arrived twice, as D-SACKs report (RFC 3708),
// or the acknowledgement was sent before the retransmission, as its timestamp shows (Eifel, RFC 3522). F-RTO
// needs neither option: it watches what the next acknowledgements cover.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/tcp/stack/scoreboard.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {

class Undo {
 public:
  // A recovery begins. It can be undone until the next one begins, or stop() is called.
  void start() {
    *this = {};
    possible_ = true;
  }
  void stop() { possible_ = false; }

  // Bytes from `position` on are retransmitted; `ts`: the time of our timestamps clock.
  void on_retransmission(std::uint64_t position, std::uint32_t bytes, std::uint32_t ts) {
    if (possible_) {
      if (repeated_ == 0) {
        first_ = position;
        first_ts_ = ts;
      }
      repeated_ += bytes;
    }
  }
  void on_dsack(const Scoreboard::Block& block) {
    if (possible_ && repeated_ > 0 && block.left >= first_) {
      duplicates_ += block.right - block.left;
    }
  }
  // An acknowledgement has moved snd_una from `before` to `snd_una` and echoes `ts_ecr`.
  void on_ack(std::uint64_t before, std::uint64_t snd_una, std::optional<std::uint32_t> ts_ecr) {
    // Only the first acknowledgement that covers the first retransmission counts. A peer that has nothing to
    // echo sends zero.
    if (repeated_ > 0 && before <= first_ && snd_una > first_ && ts_ecr && *ts_ecr != 0) {
      original_first_ = timestamp_before(*ts_ecr, first_ts_);
    }
  }
  [[nodiscard]] bool needless() const {
    return possible_ && repeated_ > 0 && (original_first_ || duplicates_ >= repeated_);
  }

 private:
  bool possible_ = false;
  bool original_first_ = false;  // the original was acknowledged, not its retransmission
  std::uint64_t first_ = 0;      // position of the first retransmission
  std::uint32_t first_ts_ = 0;
  std::uint64_t repeated_ = 0, duplicates_ = 0;  // bytes
};

// F-RTO (RFC 5682): detects a spurious retransmission time-out. The acknowledgement of the first
// retransmission is answered by new data instead of further retransmissions; if the next acknowledgement
// covers a segment that was never retransmitted, the originals were only late.

class Frto {
 public:
  // Step 1: the timer has expired, for the first time for this data.
  void start() { step_ = Step::first_ack; }
  void stop() { step_ = Step::off; }

  struct Ack {
    bool advances = false;          // snd_una has moved
    bool reports = false;           // a duplicate, or SACK has reported something new
    bool covers_all = false;        // everything that was in flight at the time-out is acknowledged
    bool original_arrived = false;  // a segment sent once, before the time-out, is acknowledged or reported
    bool new_data = false;          // there is new data, and the peer can take it
  };
  // Returns true if the time-out was spurious.
  bool on_ack(const Ack& ack) {
    if (step_ == Step::off || (!ack.advances && !ack.reports)) {
      return false;
    }
    if (step_ == Step::first_ack) {
      // Step 2: send new data if the acknowledgement advances; otherwise this is an ordinary recovery.
      const bool go_on = ack.advances && !ack.covers_all && ack.new_data;
      step_ = go_on ? Step::second_ack : Step::off;
      new_segments_ = go_on ? 2 : 0;
      return false;
    }
    step_ = Step::off;  // step 3
    return ack.original_arrived;
  }

  // Returns true while nothing else may be retransmitted.
  [[nodiscard]] bool holds_retransmissions() const { return step_ != Step::off; }
  // Returns true if a segment of new data has to be sent, whatever the congestion window.
  [[nodiscard]] bool wants_new_segment() const { return step_ == Step::second_ack && new_segments_ > 0; }
  void on_new_segment() { new_segments_ -= new_segments_ > 0 ? 1 : 0; }

 private:
  enum class Step : std::uint8_t { off, first_ack, second_ack };
  Step step_ = Step::off;
  std::uint32_t new_segments_ = 0;
};

}  // namespace tfabric::stack
