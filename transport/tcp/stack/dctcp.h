// DCTCP (RFC 8257): the window is reduced in proportion to the share of marked bytes, not by half for a
// single mark. It needs a network whose switches mark early, and DCTCP at the peer.
#pragma once

#include <cstdint>

#include "transport/tcp/stack/congestion_control.h"

namespace tfabric::stack {

class Dctcp final : public CongestionControl {
 public:
  Dctcp(std::uint32_t mss, std::uint64_t initial_window) : CongestionControl(mss, initial_window) {}

  void on_ack(const AckSample& sample) override;
  void on_loss(std::uint64_t flight) override;                // RFC 8257 §3.5: by half
  void on_rto(std::uint64_t flight, bool repeated) override;  // RFC 5681 §3.1
  void on_ecn(std::uint64_t flight) override;                 // RFC 8257 §3.3
  void on_undo() override;
  void on_idle() override {}

  // The estimated share of marked bytes, in units of 1 / kOne.
  static constexpr std::uint32_t kOne = 1u << 20;
  [[nodiscard]] std::uint32_t alpha() const { return alpha_; }

 private:
  void reduce_to(std::uint64_t window);
  void estimate(const AckSample& sample);

  std::uint32_t alpha_ = kOne;  // RFC 8257 §4.2: the initial value
  std::uint64_t window_end_ = 0;
  std::uint64_t acked_ = 0, marked_ = 0;  // in this observation window
  std::uint64_t grown_ = 0;               // acknowledged since the last growth by a segment
  std::uint64_t saved_cwnd_ = 0, saved_ssthresh_ = 0;
};

}  // namespace tfabric::stack
