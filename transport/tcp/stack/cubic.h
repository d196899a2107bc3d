// CUBIC congestion control (RFC 9438). Windows in bytes.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "transport/tcp/stack/congestion_control.h"
#include "transport/tcp/stack/hystart.h"

namespace tfabric::stack {

class Cubic final : public CongestionControl {
 public:
  Cubic(std::uint32_t mss, std::uint64_t initial_window);

  void on_ack(const AckSample& sample) override;
  void on_loss(std::uint64_t flight) override;                     // RFC 9438 §4.6
  void on_rto(std::uint64_t flight, bool repeated) override;       // RFC 9438 §4.8, RFC 5681 §3.1
  void on_ecn(std::uint64_t flight) override { on_loss(flight); }  // RFC 3168 §6.1.2
  void on_undo() override;                                         // RFC 9438 §4.9
  void on_idle() override { curve_.epoch_started = false; }  // RFC 9438 §4.2.1: idle time does not count

 private:
  void reduce(std::uint64_t flight);
  void start_epoch(Instant now);
  void avoid_congestion(const AckSample& sample);

  struct Curve {
    double w_max = 0;   // segments
    double k = 0;       // seconds
    double w_est = 0;   // segments: what Reno would have
    double origin = 0;  // cwnd_epoch, segments
    Instant epoch{};
    bool epoch_started = false;
  };
  struct Saved {
    std::uint64_t cwnd = 0, ssthresh = 0;
    Curve curve;
  };
  HyStart hystart_;
  Curve curve_;
  Saved saved_;  // from before the last reduction
};

}  // namespace tfabric::stack
