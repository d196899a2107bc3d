#include "tests/packetdrill/ip_packet.h"

#include <netinet/in.h>

#include <algorithm>

#include "transport/tcp/net/interface.h"
#include "transport/tcp/net/wire.h"

namespace tfabric::drill {
namespace {

constexpr unsigned kCe = 3;  // RFC 3168 §5

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
    result.source = net::v4_at(at + 12);
    result.destination = net::v4_at(at + 16);
  } else if (net::get8(at) >> 4 == 6 && packet.size() >= net::kIpv6HeaderBytes &&
             net::get8(at + 6) == IPPROTO_TCP) {
    header = net::kIpv6HeaderBytes;
    ecn = net::get8(at + 1) >> 4 & 3u;
    result.source = net::v6_at(at + 8);
    result.destination = net::v6_at(at + 24);
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
  std::byte* tcp = packet.data() + ip_size;
  stack::write_header(segment, tcp);
  std::byte* payload = tcp + segment.header_size();
  for (std::size_t i = 0; i < segment.piece_count; ++i) {
    payload = std::copy_n(segment.pieces[i].data, segment.pieces[i].size, payload);
  }
  const net::LinkHeader header = net::make_link_header({}, source, destination);
  std::copy_n(header.bytes.begin(), ip_size, packet.begin());
  const auto headers = std::span(packet).first(ip_size + segment.header_size());
  net::Checksum sum;
  sum.add(std::span(packet).subspan(headers.size()));
  net::finish_tcp_packet(header, headers, {.size = packet.size() - headers.size(), .sum = sum}, /*ip_id=*/0,
                         net::TcpChecksum::software, segment.ecn_capable);
  return packet;
}

}  // namespace tfabric::drill
