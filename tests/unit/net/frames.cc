#include "frames.h"

#include <catch2/catch.hpp>

namespace tfabric::net {

IpAddress ip(std::string_view text) {
  const auto address = parse_ip(text);
  REQUIRE(address.has_value());
  return *address;
}

InterfaceConfig our_config() {
  return {.name = "rail0",
          .mac = kOurMac,
          .addresses = {{our4(), 24}, {our6(), 64}},
          .gateway_v4 = ip("10.0.0.254"),
          .gateway_v6 = ip("fe80::fe")};
}

Bytes bytes(std::initializer_list<unsigned> values) {
  Bytes result;
  for (const unsigned value : values) {
    result.push_back(static_cast<std::byte>(value));
  }
  return result;
}

Bytes bytes_of(const IpAddress& address) {
  return {address.bytes.begin() + (address.is_v4() ? 12 : 0), address.bytes.end()};
}

void append(Bytes& to, std::span<const std::byte> more) { to.insert(to.end(), more.begin(), more.end()); }

void append16(Bytes& to, unsigned value) { append(to, bytes({value >> 8 & 0xff, value & 0xff})); }

void set16(Bytes& in, std::size_t at, unsigned value) {
  in.at(at) = static_cast<std::byte>(value >> 8);
  in.at(at + 1) = static_cast<std::byte>(value);
}

unsigned at8(std::span<const std::byte> in, std::size_t at) {
  REQUIRE(at < in.size());
  return std::to_integer<unsigned>(in[at]);
}

unsigned at16(std::span<const std::byte> in, std::size_t at) { return at8(in, at) << 8 | at8(in, at + 1); }

unsigned slow_checksum(std::span<const std::byte> data) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto byte = std::to_integer<unsigned>(data[i]);
    sum += i % 2 == 0 ? byte << 8 : byte;
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return ~sum & 0xffff;
}

unsigned slow_checksum(const IpAddress& source, const IpAddress& destination, unsigned protocol,
                       std::span<const std::byte> data) {
  Bytes all = bytes_of(source);
  append(all, bytes_of(destination));
  append16(all, static_cast<unsigned>(data.size() >> 16));
  append16(all, static_cast<unsigned>(data.size() & 0xffff));
  append16(all, 0);
  append16(all, protocol);
  append(all, data);
  return slow_checksum(all);
}

Bytes ethernet(const MacAddress& to, const MacAddress& from, unsigned type,
               std::span<const std::byte> payload, std::uint16_t vlan) {
  Bytes frame;
  append(frame, std::as_bytes(std::span(to.bytes)));
  append(frame, std::as_bytes(std::span(from.bytes)));
  if (vlan != 0) {
    append16(frame, 0x8100);
    append16(frame, vlan);
  }
  append16(frame, type);
  append(frame, payload);
  return frame;
}

Bytes packet(const Ip& header, std::span<const std::byte> payload) {
  Bytes result;
  if (header.destination.is_v4()) {
    result = bytes({0x45, header.traffic_class});
    append16(result, static_cast<unsigned>(20 + payload.size()));
    append16(result, 0x1234);
    append16(result, header.fragment);
    append(result, bytes({header.hop_limit, header.protocol, 0, 0}));
    append(result, bytes_of(header.source));
    append(result, bytes_of(header.destination));
    set16(result, 10, slow_checksum(result));
  } else {
    append16(result, 0x6000 | header.traffic_class << 4);
    append16(result, 0);
    append16(result, static_cast<unsigned>(payload.size()));
    append(result, bytes({header.protocol, header.hop_limit}));
    append(result, header.source.bytes);
    append(result, header.destination.bytes);
  }
  append(result, payload);
  return result;
}

Bytes ip_frame(const Ip& header, std::span<const std::byte> payload) {
  return ethernet(kOurMac, kPeerMac, header.destination.is_v4() ? 0x0800 : 0x86dd, packet(header, payload));
}

Bytes tcp(const IpAddress& source, const IpAddress& destination, std::size_t payload) {
  Bytes segment;
  append16(segment, 1000);
  append16(segment, 2000);
  append(segment, bytes({1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0}));
  for (std::size_t i = 0; i < payload; ++i) {
    segment.push_back(static_cast<std::byte>(i * 7 + 1));
  }
  set16(segment, 16, slow_checksum(source, destination, 6, segment));
  return segment;
}

Bytes icmp(const Ip& header, unsigned type, unsigned code, std::uint32_t word,
           std::span<const std::byte> rest) {
  Bytes message = bytes({type, code, 0, 0});
  append16(message, word >> 16);
  append16(message, word & 0xffff);
  append(message, rest);
  const bool v4 = header.destination.is_v4();
  set16(message, 2,
        v4 ? slow_checksum(message) : slow_checksum(header.source, header.destination, 58, message));
  return message;
}

Bytes arp_frame(const Arp& arp, const MacAddress& to) {
  Bytes payload = bytes({0, 1, 8, 0, 6, 4});
  append16(payload, arp.operation);
  append(payload, std::as_bytes(std::span(arp.sender_mac.bytes)));
  append(payload, bytes_of(arp.sender));
  append(payload, std::as_bytes(std::span(arp.target_mac.bytes)));
  append(payload, bytes_of(arp.target));
  return ethernet(to, arp.sender_mac, 0x0806, payload);
}

}  // namespace tfabric::net
