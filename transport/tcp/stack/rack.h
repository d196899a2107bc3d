// RACK-TLP (RFC 8985), for peers with SACK: loss detection by time, and the tail loss probe.
//
// RACK (§6): a segment is lost if one that was sent later has arrived, and a reordering window has passed
// since. The window starts small and grows when a D-SACK shows that a segment was retransmitted needlessly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "transport/tcp/stack/sent_segments.h"

namespace tfabric::stack {

class Rack {
 public:
  // `segment` is acknowledged or reported for the first time. Must not be called for a segment that was sent
  // twice if the original may be what has arrived (RFC 8985 §6.2 step 2).
  void on_delivered(const SentSegment& segment, Instant now);
  // A D-SACK that does not answer a tail loss probe (RFC 8985 §6.2 step 4).
  void on_dsack(std::uint64_t snd_una, std::uint64_t snd_nxt);
  void on_recovery_end();
  // The retransmissions were needless: the originals have arrived, not their retransmissions.
  void on_undo() { latest_ = latest_once_; }

  struct RoundTrips {
    Duration min_rtt{}, srtt{};
    bool in_recovery = false;
  };
  // Marks lost segments. Returns when to call it again; kNever if there is nothing to wait for.
  Instant detect(SentSegments& segments, const RoundTrips& trips, Instant now) const;
  // The retransmission timer has expired (RFC 8985 §6.3): marks the first segment, and those whose reordering
  // window has passed, as lost.
  void mark_on_rto(SentSegments& segments, const RoundTrips& trips, Instant now) const;

  [[nodiscard]] bool reordering_seen() const { return reordering_ > 0; }
  // The most bytes by which a segment was overtaken.
  [[nodiscard]] std::uint64_t reordering() const { return reordering_; }
  [[nodiscard]] std::uint32_t reo_wnd_mult() const { return reo_wnd_mult_; }

 private:
  [[nodiscard]] Duration reo_wnd(const SentSegments& segments, const RoundTrips& trips) const;

  struct Latest {
    // RACK.xmit_ts and RACK.end_seq: of the segment sent last among those that have arrived.
    Instant xmit_ts{};
    std::uint64_t end_seq = 0;
    Duration rtt{};  // RACK.rtt: of the segment acknowledged last, which may have been sent earlier
  };
  Latest latest_;
  Latest latest_once_;      // the same among the segments that were sent once
  std::uint64_t fack_ = 0;  // RACK.fack: the highest position that has arrived
  std::uint64_t reordering_ = 0;
  std::uint32_t reo_wnd_mult_ = 1;
  std::uint32_t reo_wnd_persist_ = 0;
  std::optional<std::uint64_t> dsack_round_;  // snd_nxt when the window last grew
};

// Tail loss probe (RFC 8985 §7): when acknowledgements stop, one segment is sent before the retransmission
// timer expires, so that the loss of the last segments is found by SACK and not by a time-out.

class Tlp {
 public:
  // TLP_calc_PTO(), RFC 8985 §7.2. `alone`: so little is in flight, one segment in the RFC, that the peer
  // may delay its acknowledgement by `max_ack_delay`.
  [[nodiscard]] static Duration pto(Duration srtt, bool alone, Duration max_ack_delay) {
    if (srtt == Duration::zero()) {
      return std::chrono::seconds(1);
    }
    return 2 * srtt + (alone ? max_ack_delay : Duration::zero());
  }

  // Returns true while a probe is not answered: no other one may be sent.
  [[nodiscard]] bool outstanding() const { return end_seq_.has_value(); }
  // The probe is sent; `snd_nxt` includes it (TLP.end_seq).
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
  // RFC 8985 §7.4.2. Returns true if the probe has repaired a loss that was not detected otherwise.
  bool on_ack(const Ack& ack) {
    if (!end_seq_ || ack.ack < *end_seq_) {
      return false;
    }
    // In the last two cases both the original and the probe have arrived.
    const bool needless =
        !is_retransmission_ || ack.dsack_of_probe || (ack.ack == *end_seq_ && ack.bare_duplicate);
    const bool repaired = !needless && ack.ack > *end_seq_;
    if (needless || repaired) {
      end_seq_.reset();
    }
    return repaired;
  }
  // Returns true if a D-SACK that ends at `position` answers the probe.
  [[nodiscard]] bool is_probe(std::uint64_t position) const {
    return end_seq_ && is_retransmission_ && position == *end_seq_;
  }

 private:
  std::optional<std::uint64_t> end_seq_;
  bool is_retransmission_ = false;
};

}  // namespace tfabric::stack
