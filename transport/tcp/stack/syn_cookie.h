// SYN cookies (RFC 4987 §3.6): a SYN-ACK that costs no memory, for when too many handshakes are open.
//
// Its initial sequence number is
//   28 bits of a keyed hash | 1 bit of the clock | 3 bits of MSS,
// where the hash covers the 4-tuple, the peer's ISN, the clock of 64 s ticks and all that follows. Window
// scale, SACK and ECN travel in the lowest bits of the SYN-ACK's timestamp, which the peer echoes; a peer
// without timestamps gets the MSS and no other option. From the ACK that ends the handshake the SYN is then
// found again as it was, but for an MSS that is rounded down to one of a few (ours is among them) and the
// window, which that ACK brings anew.
//
// A cookie is good for 64 to 128 s. A guess is right once in 2^28 tries, and opens a connection that has to
// introduce itself like any other. The owner asks about cookies only for as long after it has given one.
// Sans I/O; not bound to a thread.
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
  // How long a cookie may be good for.
  static constexpr Duration kLifetime = std::chrono::seconds(128);

  // `secret`: 16 random bytes.
  explicit SynCookies(std::span<const std::byte, 16> secret) : key_(make_sip_key(secret)) {}

  // The SYN-ACK for `syn`. `options` are those that the connection would have had.
  [[nodiscard]] SegmentOut answer(const Options& options, const FlowTableKey& flow, const SegmentIn& syn,
                                  Instant now) const;
  // The SYN and our initial sequence number, of which `ack` brings the cookie back; empty if it brings none
  // that is ours and fresh.
  struct Handshake {
    SegmentIn syn;
    Seq iss;
  };
  [[nodiscard]] std::optional<Handshake> recall(const Options& options, const FlowTableKey& flow,
                                                const SegmentIn& ack, Instant now) const;

 private:
  // What the hash covers besides the flow and the clock.
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
