// SYN cookies (RFC 4987 §3.6): a SYN-ACK that costs no memory, used while too many handshakes are open.
//
// Its initial sequence number is
//   28 bits of a keyed hash | 1 bit of the clock | 3 bits of MSS,
// where the hash covers the 4-tuple, the peer's ISN, the clock of 64 s ticks and the bits that follow. Window
// scale, SACK and ECN are in the lowest bits of the SYN-ACK's timestamp, which the peer echoes; a peer
// without timestamps gets the MSS and no other option. The ACK that ends the handshake allows the SYN to be
// rebuilt, except that its MSS is rounded down to one of a few (ours is among them) and its window is the
// ACK's.
//
// A cookie is valid for 64 to 128 s. A guess is right once in 2^28 tries, and opens a connection that still
// has to show its token. The owner checks for cookies only as long as one that it has sent can be valid. Does
// no I/O and is not bound to a thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"
#include "transport/tcp/stack/connection.h"
#include "transport/tcp/stack/flow_table.h"
#include "transport/tcp/stack/segment.h"
#include "transport/tcp/stack/siphash.h"

namespace tfabric::stack {

class SynCookies {
 public:
  // The longest time for which a cookie is valid.
  static constexpr Duration kLifetime = std::chrono::seconds(128);

  // `secret`: 16 random bytes.
  explicit SynCookies(std::span<const std::byte, 16> secret) : key_(make_sip_key(secret)) {}

  // Returns the SYN-ACK for `syn`. `options` are those that the connection would have.
  [[nodiscard]] SegmentOut answer(const Options& options, const FlowTableKey& flow, const SegmentIn& syn,
                                  Instant now) const;
  // Returns the SYN and our initial sequence number if `ack` acknowledges a cookie of ours that is still
  // valid.
  struct Handshake {
    SegmentIn syn;
    Seq iss;
  };
  [[nodiscard]] std::optional<Handshake> recall(const Options& options, const FlowTableKey& flow,
                                                const SegmentIn& ack, Instant now) const;

 private:
  // The part of the hash's input besides the flow and the clock.
  struct Covered {
    Seq irs;
    std::uint8_t mss_index = 0;
    std::uint8_t packed = 0;  // the options, as in the timestamp
    bool timestamps = false;
  };
  [[nodiscard]] Seq sequence(const FlowTableKey& flow, const Covered& covered, std::uint32_t tick) const;

  SipKey key_;
};

}  // namespace tfabric::stack
