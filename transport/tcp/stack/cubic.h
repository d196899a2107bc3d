// CUBIC congestion control (RFC 9438). Windows in bytes.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tfabric::stack {

class Cubic {
 public:
  // `initial_window` in bytes; `mss` is SMSS.
  Cubic(std::uint32_t mss, std::uint64_t initial_window);

  [[nodiscard]] std::uint64_t cwnd() const { return cwnd_; }
  [[nodiscard]] std::uint64_t ssthresh() const { return ssthresh_; }
  void set_mss(std::uint32_t mss) { mss_ = mss; }

  // `acked` new bytes were acknowledged outside of recovery, while the window was the limit.
  void on_ack(std::uint64_t acked, Duration srtt, Instant now);
  // A loss was detected (RFC 9438 §4.6): the window shrinks.
  void on_loss(std::uint64_t flight);
  // The retransmission timer expired (RFC 9438 §4.8, RFC 5681 §3.1). `repeated`: for the same data.
  void on_timeout(std::uint64_t flight, bool repeated);
  // Nothing was sent for a while (RFC 9438 §4.2.1: the epoch does not count idle time).
  void on_idle() { epoch_started_ = false; }
  [[nodiscard]] bool in_slow_start() const { return cwnd_ < ssthresh_; }

 private:
  void reduce(std::uint64_t flight);
  void start_epoch(Instant now);

  std::uint32_t mss_;
  std::uint64_t cwnd_;
  std::uint64_t ssthresh_;
  double w_max_ = 0;   // segments
  double k_ = 0;       // seconds
  double w_est_ = 0;   // segments: what Reno would have
  double origin_ = 0;  // cwnd_epoch, segments
  Instant epoch_{};
  bool epoch_started_ = false;
};

}  // namespace tfabric::stack
