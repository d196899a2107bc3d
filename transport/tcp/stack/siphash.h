// SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012), and the initial sequence
// numbers that are made with it.
//
// The hash is keyed, so that an attacker can neither aim at a bucket of the flow table nor guess a sequence
// number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/time.h"
#include "transport/tcp/stack/segment.h"
#include "transport/tcp/stack/seq.h"

namespace tfabric::stack {

struct SipKey {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
};

[[nodiscard]] SipKey make_sip_key(std::span<const std::byte, 16> secret);
[[nodiscard]] std::uint64_t siphash(const SipKey& key, std::span<const std::byte> bytes);

// Initial sequence numbers (RFC 6528): a keyed hash of the 4-tuple, plus a clock of 4 µs ticks.
class SequenceGenerator {
 public:
  // `secret`: 16 random bytes.
  explicit SequenceGenerator(std::span<const std::byte, 16> secret) : key_(make_sip_key(secret)) {}
  [[nodiscard]] Seq initial(std::span<const std::byte, 16> local_address,
                            std::span<const std::byte, 16> remote_address, Ports ports, Instant now) const;

 private:
  SipKey key_;
};

}  // namespace tfabric::stack
