// Loss detection by time: RACK (RFC 8985 §6), for peers with SACK.
//
// A segment is lost if one that was sent later has arrived, and a reordering window has passed since. The
// window starts small and grows when a D-SACK tells that something was repeated in vain.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "transport/tcp/stack/sent_segments.h"

namespace tfabric::stack {

class Rack {
 public:
  // `segment` is acknowledged or reported for the first time. Not for one that was sent twice, if it may be
  // the original that has arrived (RFC 8985 §6.2 step 2).
  void on_delivered(const SentSegment& segment, Instant now);
  // A D-SACK that does not answer a tail loss probe (RFC 8985 §6.2 step 4).
  void on_dsack(std::uint64_t snd_una, std::uint64_t snd_nxt);
  void on_recovery_end();
  // What was repeated was needless: it was originals that have arrived, not their repetitions.
  void on_undo() { latest_ = latest_once_; }

  struct Path {
    Duration min_rtt{}, srtt{};
    bool in_recovery = false;
  };
  // Marks what is lost; gives back when to look again, kNever if there is nothing to wait for.
  Instant detect(SentSegments& segments, const Path& path, Instant now) const;
  // The retransmission timer has expired (RFC 8985 §6.3): the first segment is lost, and what has had its
  // time.
  void mark_on_rto(SentSegments& segments, const Path& path, Instant now) const;

  [[nodiscard]] bool reordering_seen() const { return reordering_ > 0; }
  // The most bytes that a segment was behind when it arrived.
  [[nodiscard]] std::uint64_t reordering() const { return reordering_; }
  [[nodiscard]] std::uint32_t reo_wnd_mult() const { return reo_wnd_mult_; }

 private:
  [[nodiscard]] Duration reo_wnd(const SentSegments& segments, const Path& path) const;

  struct Latest {
    // Of the segment that was sent last of those that have arrived: RACK.xmit_ts, RACK.end_seq.
    Instant xmit_ts{};
    std::uint64_t end_seq = 0;
    Duration rtt{};  // RACK.rtt: of the segment of which we have heard last, which may be an older one
  };
  Latest latest_;
  Latest latest_once_;      // the same of those that were sent once
  std::uint64_t fack_ = 0;  // RACK.fack: the highest position that has arrived
  std::uint64_t reordering_ = 0;
  std::uint32_t reo_wnd_mult_ = 1;
  std::uint32_t reo_wnd_persist_ = 0;
  std::optional<std::uint64_t> dsack_round_;  // snd_nxt when the window last grew
};

}  // namespace tfabric::stack
