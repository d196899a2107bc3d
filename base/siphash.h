// SipHash-2-4, a keyed hash of short inputs: without the key its output cannot be computed or predicted
// (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012). With 64 bits of output an attacker can
// neither aim at a bucket of a hash table nor guess a sequence number. With 128 bits, which are those of the
// authors' reference code (github.com/veorq/SipHash), it authenticates messages. It is no hash of passwords,
// and encrypts nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tfabric {

using SipHashKey = std::array<std::byte, 16>;
using SipHashTag = std::array<std::byte, 16>;

// A key as the hash uses it: its halves, little-endian. For hashes on the path of packets.
struct SipKey {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
};

[[nodiscard]] SipKey make_sip_key(std::span<const std::byte, 16> secret);

[[nodiscard]] std::uint64_t siphash64(const SipKey& key, std::span<const std::byte> input);
[[nodiscard]] SipHashTag siphash(const SipHashKey& key, std::span<const std::byte> input);

// Takes as long wherever the two differ, so that the time of an answer does not tell how much of a guess is
// right.
[[nodiscard]] bool equal_in_constant_time(const SipHashTag& one, const SipHashTag& other);

}  // namespace tfabric
