#include "tests/packetdrill/ip_packet.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "transport/tcp/net/checksum.h"
#include "transport/tcp/net/wire.h"

namespace tfabric::drill {
namespace {

constexpr unsigned kEct0 = 2, kCe = 3;       // RFC 3168 §5
constexpr std::size_t kChecksumOffset = 16;  // in the TCP header

net::IpAddress v4_address(const std::byte* at) {
  return net::IpAddress::v4({net::get8(at), net::get8(at + 1), net::get8(at + 2), net::get8(at + 3)});
}

net::IpAddress v6_address(const std::byte* at) {
  net::IpAddress address;
  std::copy_n(at, address.bytes.size(), address.bytes.begin());
  return address;
}

void put_v4_header(std::byte* at, const net::IpAddress& source, const net::IpAddress& destination,
                   std::size_t size, unsigned ecn) {
  net::put8(at, 0x45);
  net::put8(at + 1, ecn);
  net::put16(at + 2, static_cast<unsigned>(size));
  net::put16(at + 6, 0x4000);  // do not fragment
  net::put8(at + 8, net::kHopLimit);
  net::put8(at + 9, IPPROTO_TCP);
  std::copy_n(source.bytes.begin() + 12, 4, at + 12);
  std::copy_n(destination.bytes.begin() + 12, 4, at + 16);
  net::Checksum checksum;
  checksum.add({at, net::kIpv4HeaderBytes});
  const std::uint16_t value = checksum.finish();
  std::memcpy(at + 10, &value, sizeof value);
}

void put_v6_header(std::byte* at, const net::IpAddress& source, const net::IpAddress& destination,
                   std::size_t size, unsigned ecn) {
  net::put8(at, 0x60);
  net::put8(at + 1, ecn << 4);
  net::put16(at + 4, static_cast<unsigned>(size - net::kIpv6HeaderBytes));
  net::put8(at + 6, IPPROTO_TCP);
  net::put8(at + 7, net::kHopLimit);
  std::copy(source.bytes.begin(), source.bytes.end(), at + 8);
  std::copy(destination.bytes.begin(), destination.bytes.end(), at + 24);
}

}  // namespace

std::optional<TcpPacket> parse_packet(std::span<const std::byte> packet) {
  if (packet.size() < net::kIpv4HeaderBytes) {
    return std::nullopt;
  }
  const std::byte* at = packet.data();
  TcpPacket result;
  std::size_t header = 0;
  unsigned ecn = 0;
  if (net::get8(at) >> 4 == 4 && net::get8(at + 9) == IPPROTO_TCP) {
    header = static_cast<std::size_t>(net::get8(at) & 0xf) * 4;
    ecn = net::get8(at + 1) & 3u;
    result.source = v4_address(at + 12);
    result.destination = v4_address(at + 16);
  } else if (net::get8(at) >> 4 == 6 && packet.size() >= net::kIpv6HeaderBytes &&
             net::get8(at + 6) == IPPROTO_TCP) {
    header = net::kIpv6HeaderBytes;
    ecn = net::get8(at + 1) >> 4 & 3u;
    result.source = v6_address(at + 8);
    result.destination = v6_address(at + 24);
  } else {
    return std::nullopt;
  }
  if (packet.size() < header) {
    return std::nullopt;
  }
  const auto segment = stack::parse_segment(packet.subspan(header));
  if (!segment) {
    return std::nullopt;
  }
  result.segment = *segment;
  result.segment.congestion_experienced = ecn == kCe;
  return result;
}

std::vector<std::byte> build_packet(const net::IpAddress& source, const net::IpAddress& destination,
                                    const stack::SegmentOut& segment) {
  const std::size_t ip_size = source.is_v4() ? net::kIpv4HeaderBytes : net::kIpv6HeaderBytes;
  std::vector<std::byte> packet(ip_size + segment.header_size() + segment.payload_size);
  std::byte* at = packet.data();
  const unsigned ecn = segment.ecn_capable ? kEct0 : 0;
  if (source.is_v4()) {
    put_v4_header(at, source, destination, packet.size(), ecn);
  } else {
    put_v6_header(at, source, destination, packet.size(), ecn);
  }
  std::byte* tcp = at + ip_size;
  stack::write_header(segment, tcp);
  std::byte* payload = tcp + segment.header_size();
  for (std::size_t i = 0; i < segment.piece_count; ++i) {
    payload = std::copy_n(segment.pieces[i].data, segment.pieces[i].size, payload);
  }
  net::Checksum checksum;
  const std::size_t tcp_size = packet.size() - ip_size;
  checksum.add_pseudo_header(source, destination, IPPROTO_TCP, static_cast<std::uint32_t>(tcp_size));
  checksum.add({tcp, tcp_size});
  const std::uint16_t value = checksum.finish();
  std::memcpy(tcp + kChecksumOffset, &value, sizeof value);
  return packet;
}

}  // namespace tfabric::drill
