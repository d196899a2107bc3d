// SipHash-2-4 with 128 bits of output: a keyed hash of short inputs, which nobody can compute or foresee
// without the key (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012; the wider output is that of
// the authors' reference code, github.com/veorq/SipHash). It authenticates; it is no hash of passwords, and
// hides nothing.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace tfabric {

using SipHashKey = std::array<std::byte, 16>;
using SipHashTag = std::array<std::byte, 16>;

[[nodiscard]] SipHashTag siphash(const SipHashKey& key, std::span<const std::byte> input);

// Takes as long wherever the two differ, so that the time of an answer does not tell how much of a guess is
// right.
[[nodiscard]] bool equal_in_constant_time(const SipHashTag& one, const SipHashTag& other);

}  // namespace tfabric
