// Whether a recovery was needless, because nothing was lost: what was repeated has arrived twice, as D-SACKs
// tell (RFC 3708), or the answer to it is older than the repetition, as timestamps tell (Eifel, RFC 3522).
// Then the window is given back (RFC 4015).
#pragma once

#include <cstdint>
#include <optional>

#include "transport/tcp/stack/scoreboard.h"
#include "transport/tcp/stack/timestamp.h"

namespace tfabric::stack {

class Undo {
 public:
  // A recovery begins. What it did can be undone until the next one, or stop().
  void start() {
    *this = {};
    possible_ = true;
  }
  void stop() { possible_ = false; }

  // Bytes from `position` on go out again; `ts`: the time of our timestamps clock.
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
    // The first that covers the first repetition. Zero is what peers send that have nothing to echo.
    if (repeated_ > 0 && before <= first_ && snd_una > first_ && ts_ecr && *ts_ecr != 0) {
      original_first_ = timestamp_before(*ts_ecr, first_ts_);
    }
  }
  [[nodiscard]] bool needless() const {
    return possible_ && repeated_ > 0 && (original_first_ || duplicates_ >= repeated_);
  }

 private:
  bool possible_ = false;
  bool original_first_ = false;  // the original was acknowledged, not its repetition
  std::uint64_t first_ = 0;      // position of what was repeated first
  std::uint32_t first_ts_ = 0;
  std::uint64_t repeated_ = 0, duplicates_ = 0;  // bytes
};

}  // namespace tfabric::stack
