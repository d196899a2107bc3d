// How large a segment the path takes (packetization layer path MTU discovery, RFC 4821 and RFC 8899), where
// nobody tells: routers that drop what is too big and whose ICMP errors are dropped as well.
//
// A connection begins with the largest segment that both ends agreed on, as a rail's MTU is mostly right.
// When large segments vanish again and again, a black hole is supposed, and small ones are sent (RFC 8899
// §4.3); then single larger segments probe which of the usual sizes pass. A probe's loss says nothing of
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
  // What the handshake has agreed on.
  void start(std::uint32_t mss) { mss_ = largest_ = mss; }
  [[nodiscard]] std::uint32_t mss() const { return mss_; }
  // Smaller ones than mss() arrive, and several larger ones in a row have not: not an outage, but the path.
  [[nodiscard]] bool limited() const { return limited_; }

  // Something new was acknowledged.
  void on_progress() { timeouts_ = 0; }
  // The retransmission timer has expired, and the first segment is of `size`. Returns whether mss() shrank.
  bool on_timeout(std::uint32_t size);
  // An ICMP error, validated: the path takes `mss` (RFC 1191, RFC 8201).
  void on_too_big(std::uint32_t mss, Instant now);

  // The size that is to be probed with the next segment; none: nothing to find out now.
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
  // It has arrived: mss() is its size now.
  void on_probe_arrived(Instant now);
  void on_probe_lost(Instant now);
  // It was sent again before its fate was known, which will not be told apart now.
  void forget_probe() { probe_start_ = kNone; }

 private:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::uint32_t mss_ = 0, largest_ = 0;
  std::uint32_t timeouts_ = 0;  // of large segments, one after the other
  std::uint32_t lost_probes_ = 0;
  std::uint32_t probe_size_ = 0;
  std::uint64_t probe_start_ = kNone;
  Instant search_at_{};
  bool limited_ = false;
};

}  // namespace tfabric::stack
