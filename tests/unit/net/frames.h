// Frames written byte by byte, and an interface to give them to. Nothing here uses the code under test but
// its types, so that a fault does not cancel itself out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "transport/tcp/net/interface.h"

namespace tfabric::net {

using Bytes = std::vector<std::byte>;

// An arbitrary time that is not the clock's zero.
inline constexpr Instant kStart{std::chrono::hours(1)};

inline constexpr MacAddress kOurMac{{2, 0, 0, 0, 0, 1}};
inline constexpr MacAddress kPeerMac{{2, 0, 0, 0, 0, 2}};
inline constexpr MacAddress kEverybody{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

[[nodiscard]] IpAddress ip(std::string_view text);
[[nodiscard]] inline IpAddress our4() { return ip("10.0.0.1"); }
[[nodiscard]] inline IpAddress peer4() { return ip("10.0.0.2"); }
[[nodiscard]] inline IpAddress our6() { return ip("fd00::1"); }
[[nodiscard]] inline IpAddress peer6() { return ip("fd00::2"); }

// 10.0.0.1/24 and fd00::1/64, with gateways 10.0.0.254 and fe80::fe.
[[nodiscard]] InterfaceConfig our_config();

[[nodiscard]] Bytes bytes(std::initializer_list<unsigned> values);
[[nodiscard]] Bytes bytes_of(const IpAddress& address);  // 4 or 16
void append(Bytes& to, std::span<const std::byte> more);
void append16(Bytes& to, unsigned value);
void set16(Bytes& in, std::size_t at, unsigned value);
[[nodiscard]] unsigned at8(std::span<const std::byte> in, std::size_t at);
[[nodiscard]] unsigned at16(std::span<const std::byte> in, std::size_t at);

// RFC 1071, a byte at a time: the checksum as a number.
[[nodiscard]] unsigned slow_checksum(std::span<const std::byte> data);
// That of an upper-layer packet, with its pseudo-header.
[[nodiscard]] unsigned slow_checksum(const IpAddress& source, const IpAddress& destination, unsigned protocol,
                                     std::span<const std::byte> data);

[[nodiscard]] Bytes ethernet(const MacAddress& to, const MacAddress& from, unsigned type,
                             std::span<const std::byte> payload, std::uint16_t vlan = 0);

struct Ip {
  IpAddress source, destination;
  unsigned protocol = 6;
  unsigned hop_limit = 64;
  unsigned traffic_class = 0;
  unsigned fragment = 0;  // IPv4: flags and offset
};
// A whole IPv4 or IPv6 packet, by the family of the destination, with its checksum.
[[nodiscard]] Bytes packet(const Ip& header, std::span<const std::byte> payload);
// The same in a frame from the peer to us.
[[nodiscard]] Bytes ip_frame(const Ip& header, std::span<const std::byte> payload);

// A TCP segment of 20 bytes and a payload, from port 1000 to 2000, its checksum right.
[[nodiscard]] Bytes tcp(const IpAddress& source, const IpAddress& destination, std::size_t payload = 4);
// An ICMP or ICMPv6 message with its checksum: type, code, the second word, the rest.
[[nodiscard]] Bytes icmp(const Ip& header, unsigned type, unsigned code, std::uint32_t word,
                         std::span<const std::byte> rest);

struct Arp {
  unsigned operation = 1;
  MacAddress sender_mac = kPeerMac;
  IpAddress sender;
  MacAddress target_mac;
  IpAddress target;
};
[[nodiscard]] Bytes arp_frame(const Arp& arp, const MacAddress& to = kEverybody);

}  // namespace tfabric::net
