// Packets with right checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tests/unit/wire/heap_store.h"
#include "transport/tcp/net/checksum.h"
#include "transport/tcp/net/wire.h"

namespace tfabric::wire {

struct PacketOptions {
  bool v4 = true;
  std::size_t payload = 100;  // of TCP
  unsigned ecn = 0;           // the two bits
  bool vlan = false;
};

inline std::size_t ip_offset(const PacketOptions& options) { return options.vlan ? 18 : 14; }
inline std::size_t tcp_offset(const PacketOptions& options) {
  return ip_offset(options) + (options.v4 ? net::kIpv4HeaderBytes : net::kIpv6HeaderBytes);
}

inline void store(std::byte* at, const net::Checksum& sum) {
  const std::uint16_t value = sum.finish();
  std::memcpy(at, &value, sizeof value);
}

inline net::IpAddress address_at(const std::byte* at, bool v4) {
  net::IpAddress address;
  if (v4) {
    address = net::IpAddress::v4({});
    std::memcpy(&address.bytes[12], at, 4);
  } else {
    std::memcpy(address.bytes.data(), at, 16);
  }
  return address;
}

// The sum over the L4 part with its pseudo-header, 0 if the checksum is right.
inline std::uint16_t l4_sum(std::span<const std::byte> packet, const PacketOptions& options,
                            std::uint8_t protocol = 6) {
  const std::byte* ip = &packet[ip_offset(options)];
  const auto l4 = packet.subspan(tcp_offset(options));
  net::Checksum sum;
  sum.add_pseudo_header(address_at(ip + (options.v4 ? 12 : 8), options.v4),
                        address_at(ip + (options.v4 ? 16 : 24), options.v4), protocol,
                        static_cast<std::uint32_t>(l4.size()));
  sum.add(l4);
  return sum.finish();
}

// The sum over the IPv4 header, 0 if its checksum is right.
inline std::uint16_t header_sum(std::span<const std::byte> packet, std::size_t offset = 14) {
  net::Checksum sum;
  sum.add(packet.subspan(offset, net::kIpv4HeaderBytes));
  return sum.finish();
}

// From 02:..:01 to 02:..:02, 10.0.0.1 to 10.0.0.2 or fd00::1 to fd00::2.
inline Bytes tcp_packet(const PacketOptions& options) {
  const std::size_t ip = ip_offset(options), tcp = tcp_offset(options);
  Bytes packet(tcp + 20 + options.payload);
  net::put8(&packet[0], 2);
  net::put8(&packet[5], 2);
  net::put8(&packet[6], 2);
  net::put8(&packet[11], 1);
  if (options.vlan) {
    net::put16(&packet[12], net::kEtherTypeVlan);
    net::put16(&packet[14], 7);
  }
  net::put16(&packet[ip - 2], options.v4 ? net::kEtherTypeIpv4 : net::kEtherTypeIpv6);
  std::byte* header = &packet[ip];
  if (options.v4) {
    net::put16(header, 0x4500 | options.ecn);
    net::put16(header + 2, static_cast<unsigned>(packet.size() - ip));
    net::put16(header + 6, 0x4000);
    net::put16(header + 8, 64u << 8 | 6);
    net::put32(header + 12, 0x0a000001);
    net::put32(header + 16, 0x0a000002);
    net::Checksum sum;
    sum.add({header, net::kIpv4HeaderBytes});
    store(header + 10, sum);
  } else {
    net::put16(header, 0x6000 | options.ecn << 4);
    net::put16(header + 4, static_cast<unsigned>(packet.size() - tcp));
    net::put16(header + 6, 6u << 8 | 64);
    net::put8(header + 8, 0xfd);
    net::put8(header + 23, 1);
    net::put8(header + 24, 0xfd);
    net::put8(header + 39, 2);
  }
  net::put8(&packet[tcp + 12], 0x50);
  for (std::size_t i = 0; i < options.payload; ++i) {
    net::put8(&packet[tcp + 20 + i], i * 7 & 0xff);
  }
  const std::uint16_t sum = l4_sum(packet, options);
  std::memcpy(&packet[tcp + 16], &sum, sizeof sum);
  return packet;
}

}  // namespace tfabric::wire
