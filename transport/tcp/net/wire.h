// Fields of packets, at any alignment: numbers in network byte order, and addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/address.h"
#include "base/big_endian.h"

namespace tfabric::net {

inline std::uint8_t get8(const std::byte* at) { return std::to_integer<std::uint8_t>(*at); }
inline std::uint16_t get16(const std::byte* at) { return get_big_endian<std::uint16_t>(at); }
inline std::uint32_t get32(const std::byte* at) { return get_big_endian<std::uint32_t>(at); }
inline void put8(std::byte* at, unsigned value) { *at = static_cast<std::byte>(value); }
inline void put16(std::byte* at, unsigned value) { put_big_endian(at, static_cast<std::uint16_t>(value)); }
inline void put32(std::byte* at, std::uint32_t value) { put_big_endian(at, value); }

inline MacAddress mac_at(const std::byte* at) {
  MacAddress mac;
  std::memcpy(mac.bytes.data(), at, mac.bytes.size());
  return mac;
}
inline IpAddress v4_at(const std::byte* at) {
  return IpAddress::v4({get8(at), get8(at + 1), get8(at + 2), get8(at + 3)});
}
inline IpAddress v6_at(const std::byte* at) {
  IpAddress address;
  std::memcpy(address.bytes.data(), at, address.bytes.size());
  return address;
}

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800, kEtherTypeArp = 0x0806, kEtherTypeVlan = 0x8100,
                               kEtherTypeIpv6 = 0x86dd;
inline constexpr std::size_t kEthernetHeaderBytes = 14;
inline constexpr std::uint8_t kProtocolIcmp = 1, kProtocolTcp = 6, kProtocolIcmpv6 = 58;
inline constexpr std::uint8_t kHopByHop = 0;  // RFC 8200 §4.3: the header of hop-by-hop options
inline constexpr std::size_t kIpv4HeaderBytes = 20, kIpv6HeaderBytes = 40;
inline constexpr std::uint8_t kHopLimit = 64;  // RFC 1700, "IP time to live"

}  // namespace tfabric::net
