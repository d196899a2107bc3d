// Explicit congestion notification on one connection: RFC 3168, or the exact echo of each mark that DCTCP
// needs (RFC 8257 §3.2).
#pragma once

#include <cstdint>

namespace tfabric::stack {

class Ecn {
 public:
  // Both ends have agreed to it. `each_mark`: for DCTCP, which must be configured at both ends (RFC 8257 §5).
  void enable(bool each_mark) {
    enabled_ = true;
    each_mark_ = each_mark;
  }
  [[nodiscard]] bool enabled() const { return enabled_; }

  // A segment with payload has arrived. Returns true if it must be acknowledged at once.
  bool on_data(bool ce, bool cwr) {
    if (!enabled_) {
      return false;
    }
    const bool before = echo_;
    if (each_mark_) {
      echo_ = ce;
    } else {
      // RFC 3168 §6.1.3: echo until the sender sends CWR. A mark on the segment with CWR is a new one.
      echo_ = ce || (echo_ && !cwr);
    }
    return echo_ != before;
  }
  // The ECE flag of the segments that we send.
  [[nodiscard]] bool echo() const { return echo_; }

  // The peer's ECE flag came with an acknowledgement up to `snd_una`. Returns true if the window must be
  // reduced: once for each window of data (RFC 3168 §6.1.2).
  bool on_echo(std::uint64_t snd_una, std::uint64_t snd_nxt) {
    if (!enabled_ || snd_una < reacted_until_) {
      return false;
    }
    on_reduction(snd_nxt);
    return true;
  }
  // The window was reduced, for a mark or a loss: CWR stops the peer's echo.
  void on_reduction(std::uint64_t snd_nxt) {
    reacted_until_ = snd_nxt;
    cwr_ = enabled_;
  }
  // After a time-out, slow start begins: an earlier reduction must not keep the window from growing.
  void on_rto() { reacted_until_ = 0; }
  // Returns true while data that was in flight at the last reduction is not acknowledged: the window must not
  // grow.
  [[nodiscard]] bool reducing(std::uint64_t snd_una) const { return enabled_ && snd_una < reacted_until_; }
  [[nodiscard]] bool cwr_waits() const { return cwr_; }
  // Returns true once after a reduction: the next segment of new data carries CWR.
  bool take_cwr() {
    const bool cwr = cwr_;
    cwr_ = false;
    return cwr;
  }

 private:
  bool enabled_ = false, each_mark_ = false;
  bool echo_ = false;
  bool cwr_ = false;
  std::uint64_t reacted_until_ = 0;
};

}  // namespace tfabric::stack
