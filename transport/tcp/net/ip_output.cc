// The headers of outgoing packets: route, neighbour, Ethernet and IP.
#include <algorithm>
#include <cstring>

#include "transport/tcp/net/checksum.h"
#include "transport/tcp/net/interface_impl.h"

namespace tfabric::net {
namespace {

constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::size_t kTcpChecksumAt = 16;
// ECT(0), the low bits of the traffic class, in the second byte of the header (RFC 3168 §5, RFC 8200 §3).
constexpr std::byte kEctInIpv4{0x02}, kEctInIpv6{0x20};

}  // namespace

std::optional<IpAddress> Interface::Impl::next_hop(const IpAddress& destination) const {
  const bool on_link = std::any_of(config.addresses.begin(), config.addresses.end(),
                                   [&](const Prefix& p) { return p.contains(destination); });
  if (on_link) {
    return destination;
  }
  return destination.is_v4() ? config.gateway_v4 : config.gateway_v6;
}

Interface::Route Interface::prepare(const IpAddress& source, const IpAddress& destination, LinkHeader& header,
                                    Instant now) {
  Impl& self = *impl_;
  self.now = now;
  if (self.config.point_to_point || self.owns(destination)) {
    const MacAddress to = self.owns(destination) ? self.config.mac : kBroadcast;
    self.write_link_header(to, source, destination, header);
    return Route::ready;
  }
  const auto hop = self.next_hop(destination);
  if (!hop) {
    return Route::unreachable;
  }
  const NeighbourTable::Lookup found = self.neighbours.find(*hop, now);
  if (found.request) {
    self.request(*found.request);
  }
  if (found.kind == NeighbourTable::Lookup::Kind::pending) {
    return Route::pending;
  }
  self.write_link_header(found.mac, source, destination, header);
  return Route::ready;
}

void Interface::doubt(const IpAddress& destination, Instant now) {
  if (const auto hop = next_hop(destination)) {
    impl_->neighbours.doubt(*hop, now);
  }
}

std::optional<IpAddress> Interface::next_hop(const IpAddress& destination) const {
  return impl_->next_hop(destination);
}

bool Interface::is_silent(const IpAddress& destination, Instant now) const {
  const auto hop = impl_->next_hop(destination);
  return hop && impl_->neighbours.is_silent(*hop, now);
}

void Interface::prepare_reply(const IpAddress& source, const IpAddress& destination, const MacAddress& to,
                              LinkHeader& header) const {
  impl_->write_link_header(to, source, destination, header);
}

void Interface::Impl::write_link_header(const MacAddress& to, const IpAddress& source,
                                        const IpAddress& destination, LinkHeader& header) const {
  const std::uint16_t type = destination.is_v4() ? kEtherTypeIpv4 : kEtherTypeIpv6;
  header = make_link_header(start_frame(to, type, 0), source, destination);
}

LinkHeader make_link_header(std::span<const std::byte> ethernet, const IpAddress& source,
                            const IpAddress& destination) {
  LinkHeader header;
  header.bytes.fill(std::byte{0});
  std::copy(ethernet.begin(), ethernet.end(), header.bytes.begin());
  header.v4 = destination.is_v4();
  header.ip_offset = static_cast<std::uint8_t>(ethernet.size());
  header.size =
      static_cast<std::uint8_t>(header.ip_offset + (header.v4 ? kIpv4HeaderBytes : kIpv6HeaderBytes));
  std::byte* const ip = &header.bytes[header.ip_offset];
  start_ip_header(ip, source, destination);
  Checksum ip_sum, pseudo_sum;
  if (header.v4) {
    ip_sum.add({ip, kIpv4HeaderBytes});
  }
  pseudo_sum.add_pseudo_header(source, destination, kProtocolTcp, 0);
  header.ip_sum = ip_sum.folded();
  header.pseudo_sum = pseudo_sum.folded();
  return header;
}

void start_ip_header(std::byte* ip, const IpAddress& source, const IpAddress& destination) {
  if (destination.is_v4()) {
    put8(ip, 0x45);
    put16(ip + 6, kDontFragment);
    put8(ip + 8, kHopLimit);
    put8(ip + 9, kProtocolTcp);
    std::memcpy(ip + 12, &source.bytes[12], 4);
    std::memcpy(ip + 16, &destination.bytes[12], 4);
  } else {
    put8(ip, 0x60);
    put8(ip + 6, kProtocolTcp);
    put8(ip + 7, kHopLimit);
    std::memcpy(ip + 8, source.bytes.data(), 16);
    std::memcpy(ip + 24, destination.bytes.data(), 16);
  }
}

void Interface::Impl::send_icmp(const MacAddress& to, const IpAddress& source, const IpAddress& destination,
                                std::span<const std::byte> message, std::uint8_t hop_limit,
                                std::span<const std::byte> options) {
  LinkHeader header;
  write_link_header(to, source, destination, header);
  std::vector<std::byte> frame(header.bytes.begin(), header.bytes.begin() + header.size);
  frame.insert(frame.end(), options.begin(), options.end());
  frame.insert(frame.end(), message.begin(), message.end());
  std::byte* ip = &frame[header.ip_offset];
  std::byte* icmp = &frame[header.size + options.size()];
  put16(icmp + 2, 0);
  Checksum checksum;
  if (header.v4) {
    put8(ip + 9, kProtocolIcmp);
    put8(ip + 8, hop_limit);
    put16(ip + 2, static_cast<unsigned>(kIpv4HeaderBytes + message.size()));
    Checksum ip_checksum;
    ip_checksum.add({ip, kIpv4HeaderBytes});
    ip_checksum.store(ip + 10);
  } else {
    put8(ip + 6, options.empty() ? kProtocolIcmpv6 : kHopByHop);
    if (!options.empty()) {
      put8(&frame[header.size], kProtocolIcmpv6);
    }
    put8(ip + 7, hop_limit);
    put16(ip + 4, static_cast<unsigned>(options.size() + message.size()));
    checksum.add_pseudo_header(source, destination, kProtocolIcmpv6,
                               static_cast<std::uint32_t>(message.size()));
  }
  checksum.add({icmp, message.size()});
  checksum.store(icmp + 2);
  queue(std::move(frame));
}

void finish_tcp_packet(const LinkHeader& header, std::span<std::byte> headers, const TcpPayload& payload,
                       std::uint16_t ip_id, TcpChecksum tcp_checksum, bool ecn_capable) {
  const std::size_t length = headers.size() - header.size + payload.size;
  std::byte* ip = &headers[header.ip_offset];
  std::byte* tcp = &headers[header.size];
  if (header.v4) {
    const auto total = static_cast<std::uint16_t>(kIpv4HeaderBytes + length);
    put16(ip + 2, total);
    put16(ip + 4, ip_id);
    if (ecn_capable) {
      ip[1] |= kEctInIpv4;
    }
    if (tcp_checksum != TcpChecksum::none) {
      Checksum checksum(header.ip_sum);
      checksum.add_number(total);
      checksum.add_number(ip_id);
      checksum.add_number(ecn_capable ? std::to_integer<std::uint16_t>(kEctInIpv4) : std::uint16_t{0});
      checksum.store(ip + 10);
    }
  } else {
    put16(ip + 4, static_cast<unsigned>(length));
    if (ecn_capable) {
      ip[1] |= kEctInIpv6;
    }
  }
  if (tcp_checksum == TcpChecksum::none) {
    return;
  }
  Checksum checksum(header.pseudo_sum);
  if (tcp_checksum != TcpChecksum::cut) {
    checksum.add_number(static_cast<std::uint16_t>(length));
  }
  if (tcp_checksum != TcpChecksum::software) {
    const auto sum = static_cast<std::uint16_t>(~checksum.finish());
    std::memcpy(tcp + kTcpChecksumAt, &sum, 2);
    return;
  }
  checksum.add(headers.subspan(header.size));
  checksum.add(payload.sum);
  checksum.store(tcp + kTcpChecksumAt);
}

}  // namespace tfabric::net
