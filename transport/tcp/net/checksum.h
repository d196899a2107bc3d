// The Internet checksum (RFC 1071), fast: vectorised, over pieces of any length and alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/tcp/net/address.h"

namespace tfabric::net {

// A running ones' complement sum over a sequence of pieces, each of any length (odd ones included).
class Checksum {
 public:
  void add(std::span<const std::byte> bytes);
  // The pseudo-header of TCP, UDP or ICMPv6 (RFC 9293 §3.1, RFC 8200 §8.1). `length` is that of the
  // upper-layer packet.
  void add_pseudo_header(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol,
                         std::uint32_t length);
  // Returns the value to store in the checksum field, already in network byte order. Over a packet that
  // contains its own correct checksum it is 0.
  [[nodiscard]] std::uint16_t finish() const;
  // Stores finish() in the checksum field at `field`.
  void store(std::byte* field) const;

 private:
  std::uint64_t sum_ = 0;
  bool odd_ = false;
};

}  // namespace tfabric::net
