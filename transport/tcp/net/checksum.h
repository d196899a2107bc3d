// The Internet checksum (RFC 1071), fast: vectorised, over pieces of any length and alignment.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/address.h"

namespace tfabric::net {

// A running ones' complement sum over a sequence of pieces, each of any length (odd ones included).
class Checksum {
 public:
  Checksum() = default;
  // Goes on from folded() of another, over pieces that ended at an even place.
  explicit Checksum(std::uint16_t folded) : sum_(folded) {}

  void add(std::span<const std::byte> bytes);
  // A field of 16 bits at an even place.
  void add_number(std::uint16_t value) { add_sum(static_cast<std::uint16_t>(value << 8 | value >> 8)); }
  // What `pieces`, which start at an even place, add up to.
  void add(const Checksum& pieces) {
    add_sum(pieces.sum_);
    odd_ = pieces.odd_;
  }
  // The pseudo-header of TCP, UDP or ICMPv6 (RFC 9293 §3.1, RFC 8200 §8.1). `length` is that of the
  // upper-layer packet. `addresses`: the source's and the destination's, as they follow each other in the
  // packet.
  void add_pseudo_header(std::span<const std::byte> addresses, std::uint8_t protocol, std::uint32_t length);
  void add_pseudo_header(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol,
                         std::uint32_t length);
  // Returns the value to store in the checksum field, already in network byte order. Over a packet that
  // contains its own correct checksum it is 0.
  [[nodiscard]] std::uint16_t finish() const;
  // What has been added so far, for the sum of something that begins alike.
  [[nodiscard]] std::uint16_t folded() const { return static_cast<std::uint16_t>(~finish()); }
  // Stores finish() in the checksum field at `field`.
  void store(std::byte* field) const;

 private:
  void add_sum(std::uint64_t sum) {
    assert(!odd_);
    sum_ += sum;
    sum_ += sum_ < sum ? 1 : 0;
  }

  std::uint64_t sum_ = 0;  // of 64-bit words as in memory, with their carries (RFC 1071 §2)
  bool odd_ = false;
};

// Returns true if the checksum of an IPv4 header without options is right.
[[nodiscard]] inline bool ipv4_header_good(const std::byte* ip) {
  std::array<std::uint32_t, 5> words;
  std::memcpy(words.data(), ip, sizeof words);
  const std::uint64_t sum = std::uint64_t{words[0]} + words[1] + words[2] + words[3] + words[4];
  // All ones in 16 bits: the sum is a multiple of 2^16 - 1, and no header is all zeros.
  return sum % 0xffff == 0;
}

}  // namespace tfabric::net
