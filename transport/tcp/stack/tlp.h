// Tail loss probe (RFC 8985 §7): when acknowledgements stop, one segment goes out before the
// retransmission timer would, so that the loss of the last segments is found by SACK and not by a time-out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace tfabric::stack {

class Tlp {
 public:
  // TLP_calc_PTO(), RFC 8985 §7.2. `alone`: one segment is in flight, whose acknowledgement the peer may
  // delay by `max_ack_delay`.
  [[nodiscard]] static Duration pto(Duration srtt, bool alone, Duration max_ack_delay) {
    if (srtt == Duration::zero()) {
      return std::chrono::seconds(1);
    }
    return 2 * srtt + (alone ? max_ack_delay : Duration::zero());
  }

  // A probe is sent or outstanding: no other one.
  [[nodiscard]] bool outstanding() const { return end_seq_.has_value(); }
  // The probe leaves; `snd_nxt` includes it (TLP.end_seq).
  void on_probe(std::uint64_t snd_nxt, bool is_retransmission) {
    end_seq_ = snd_nxt;
    is_retransmission_ = is_retransmission;
  }
  void reset() { end_seq_.reset(); }

  struct Ack {
    std::uint64_t ack = 0;        // the acknowledged position
    bool dsack_of_probe = false;  // a D-SACK ends where the probe ended
    bool bare_duplicate = false;  // a duplicate ACK without SACK
  };
  // RFC 8985 §7.4.2. Returns true if the probe has repaired a loss that nobody else knows of.
  bool on_ack(const Ack& ack) {
    if (!end_seq_ || ack.ack < *end_seq_) {
      return false;
    }
    // The last: both the original and the probe have arrived.
    const bool needless =
        !is_retransmission_ || ack.dsack_of_probe || (ack.ack == *end_seq_ && ack.bare_duplicate);
    const bool repaired = !needless && ack.ack > *end_seq_;
    if (needless || repaired) {
      end_seq_.reset();
    }
    return repaired;
  }
  // Whether a D-SACK that ends at `position` answers the probe.
  [[nodiscard]] bool is_probe(std::uint64_t position) const {
    return end_seq_ && is_retransmission_ && position == *end_seq_;
  }

 private:
  std::optional<std::uint64_t> end_seq_;
  bool is_retransmission_ = false;
};

}  // namespace tfabric::stack
