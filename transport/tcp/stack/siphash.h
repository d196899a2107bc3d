// SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012), for initial sequence
// numbers and the flow table: keyed, so that strangers cannot aim at a bucket or guess a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tfabric::stack {

struct SipKey {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
};

[[nodiscard]] SipKey make_sip_key(std::span<const std::byte, 16> secret);
[[nodiscard]] std::uint64_t siphash(const SipKey& key, std::span<const std::byte> bytes);

}  // namespace tfabric::stack
