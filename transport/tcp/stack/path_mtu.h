// The largest segment that the path carries (packetization layer path MTU discovery, RFC 4821 and RFC 8899),
// for networks in which routers drop larger packets and their ICMP errors are dropped as well.
//
// A connection begins with the largest segment that both ends agreed on, because a rail's MTU is mostly
// right. When large segments are lost repeatedly, a black hole is assumed, and small ones are sent (RFC 8899
// §4.3); then single larger segments probe which of the usual sizes pass. The loss of a probe is no sign of
// congestion (RFC 4821 §7.5).
//
// Sizes are MSS: payload and options. Private to one connection.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/time.h"

namespace tfabric::stack {

class PathMtu {
 public:
  // Begins with the size that the handshake has agreed on.
  void start(std::uint32_t mss) { mss_ = largest_ = mss; }
  [[nodiscard]] std::uint32_t mss() const { return mss_; }
  // Returns true if segments of mss() arrive and several larger ones in a row did not: the path limits the
  // size.
  [[nodiscard]] bool limited() const { return limited_; }

  // Something new was acknowledged.
  void on_progress() { timeouts_ = 0; }
  // The retransmission timer has expired, and the first segment has `size` bytes. Returns true if mss() was
  // reduced.
  bool on_timeout(std::uint32_t size);
  // A validated ICMP error says that the path carries `mss` (RFC 1191, RFC 8201).
  void on_too_big(std::uint32_t mss, Instant now);

  // Returns the size to probe with the next segment; nothing if no probe is due.
  [[nodiscard]] std::optional<std::uint32_t> wanted_probe(Instant now) const;
  // The segment at `start` is a probe of `size`.
  void on_probe(std::uint64_t start, std::uint32_t size) {
    probe_start_ = start;
    probe_size_ = size;
  }
  [[nodiscard]] bool is_probe(std::uint64_t start) const { return start == probe_start_; }
  [[nodiscard]] std::optional<std::uint64_t> probe() const {
    return probe_start_ == kNone ? std::nullopt : std::optional(probe_start_);
  }
  // The probe has arrived: mss() becomes its size.
  void on_probe_arrived(Instant now);
  void on_probe_lost(Instant now);
  // The probe was retransmitted before its fate was known: whether the probe itself arrives cannot be seen
  // any more.
  void forget_probe() { probe_start_ = kNone; }

 private:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::uint32_t mss_ = 0, largest_ = 0;
  std::uint32_t timeouts_ = 0;  // time-outs of large segments in a row
  std::uint32_t lost_probes_ = 0;
  std::uint32_t probe_size_ = 0;
  std::uint64_t probe_start_ = kNone;
  Instant search_at_{};
  bool limited_ = false;
};

}  // namespace tfabric::stack
