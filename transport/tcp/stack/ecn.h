// Explicit congestion notification on one connection: RFC 3168, and the echo of each mark that DCTCP needs
// (RFC 8257 §3.2).
#pragma once

#include <cstdint>

namespace tfabric::stack {

class Ecn {
 public:
  // Both ends want it. `each_mark`: DCTCP, for which both ends must be configured (RFC 8257 §5).
  void enable(bool each_mark) {
    enabled_ = true;
    each_mark_ = each_mark;
  }
  [[nodiscard]] bool enabled() const { return enabled_; }

  // A segment with payload has arrived. Returns true if the answer must not wait.
  bool on_data(bool ce, bool cwr) {
    if (!enabled_) {
      return false;
    }
    const bool before = echo_;
    if (each_mark_) {
      echo_ = ce;
    } else {
      // RFC 3168 §6.1.3: until the sender says that it has heard. The mark of a segment that says so is new.
      echo_ = ce || (echo_ && !cwr);
    }
    return echo_ != before;
  }
  // The ECE flag of what we send.
  [[nodiscard]] bool echo() const { return echo_; }

  // The peer's ECE flag came with an acknowledgement up to `snd_una`. Returns true if the window must
  // shrink: once for what was in flight at the last time (RFC 3168 §6.1.2).
  bool on_echo(std::uint64_t snd_una, std::uint64_t snd_nxt) {
    if (!enabled_ || snd_una < reacted_until_) {
      return false;
    }
    on_reduction(snd_nxt);
    return true;
  }
  // The window has shrunk, for a mark or a loss: the peer need not repeat its echo.
  void on_reduction(std::uint64_t snd_nxt) {
    reacted_until_ = snd_nxt;
    cwr_ = enabled_;
  }
  // Slow start fixes a time-out; a reduction of before must not hold it back.
  void on_rto() { reacted_until_ = 0; }
  // What was in flight at the last reduction is not acknowledged yet: the window is not to grow.
  [[nodiscard]] bool reducing(std::uint64_t snd_una) const { return enabled_ && snd_una < reacted_until_; }
  [[nodiscard]] bool cwr_waits() const { return cwr_; }
  // The CWR flag goes with the next segment of new data, once.
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
