// Proportional Rate Reduction (RFC 9937, which replaces RFC 6937): how many bytes may be sent in fast
// recovery, so that the window reaches ssthresh when recovery ends, neither at once nor in bursts.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tfabric::stack {

class Prr {
 public:
  // Recovery begins. `recover_fs`: the bytes in flight that were not reported before (RecoverFS).
  void start(std::uint64_t recover_fs, std::uint64_t ssthresh) {
    recover_fs_ = std::max<std::uint64_t>(recover_fs, 1);
    ssthresh_ = ssthresh;
    prr_delivered_ = prr_out_ = cwnd_ = 0;
  }
  struct Ack {
    std::uint64_t delivered = 0;  // DeliveredData
    std::uint64_t in_flight = 0;  // pipe of RFC 6675, after the losses that this ACK reveals
    bool safe = false;            // SafeACK: snd_una has moved, and there is no new loss
    std::uint32_t mss = 0;
  };
  // For each ACK, from the one that begins recovery on.
  void on_ack(const Ack& ack) {
    prr_delivered_ += ack.delivered;
    std::uint64_t out = 0;
    if (ack.in_flight > ssthresh_) {
      const std::uint64_t due = (prr_delivered_ * ssthresh_ + recover_fs_ - 1) / recover_fs_;
      out = due - std::min(due, prr_out_);
    } else {
      const std::uint64_t conserved = prr_delivered_ - std::min(prr_delivered_, prr_out_);
      out = std::max(conserved, ack.delivered) + (ack.safe ? ack.mss : 0);
      out = std::min(ssthresh_ - ack.in_flight, out);
    }
    if (prr_out_ == 0) {
      out = std::max<std::uint64_t>(out, ack.mss);  // the first retransmission, whatever the window
    }
    cwnd_ = ack.in_flight + out;
  }
  void on_sent(std::uint64_t bytes) { prr_out_ += bytes; }
  [[nodiscard]] std::uint64_t cwnd() const { return cwnd_; }

 private:
  std::uint64_t recover_fs_ = 1, ssthresh_ = 0, prr_delivered_ = 0, prr_out_ = 0, cwnd_ = 0;
};

}  // namespace tfabric::stack
