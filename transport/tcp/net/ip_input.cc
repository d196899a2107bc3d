// Arriving IPv4 (RFC 791) and IPv6 (RFC 8200) packets. Fragments are dropped and counted: our peers' segments
// are never fragmented (RFC 1191), and reassembly is an attack surface.

#include <algorithm>

#include "transport/tcp/net/checksum.h"
#include "transport/tcp/net/interface_impl.h"

namespace tfabric::net {
namespace {

constexpr std::uint8_t kEcnMask = 0x03, kCongestionExperienced = 0x03;  // RFC 3168 §5
constexpr std::uint16_t kMoreFragments = 0x2000, kFragmentOffset = 0x1fff;
// IPv6 extension headers (RFC 8200 §4).
constexpr std::uint8_t kRouting = 43, kFragment = 44, kDestinationOptions = 60;
constexpr int kMaxExtensionHeaders = 8;
constexpr std::size_t kTcpHeaderBytes = 20;

std::size_t bytes_in(std::span<const std::span<const std::byte>> pieces) {
  std::size_t bytes = 0;
  for (const auto& piece : pieces) {
    bytes += piece.size();
  }
  return bytes;
}

// Returns true if a header of hop-by-hop options has the Router Alert option with the value for MLD (RFC 2711
// §2.1).
bool has_router_alert(std::span<const std::byte> header) {
  constexpr std::uint8_t kPad1 = 0, kRouterAlert = 5;
  for (auto options = header.subspan(2); !options.empty();) {
    if (get8(options.data()) == kPad1) {
      options = options.subspan(1);
      continue;
    }
    const std::size_t size = options.size() < 2 ? 0 : std::size_t{get8(&options[1])} + 2;
    if (size == 0 || size > options.size()) {
      return false;
    }
    if (get8(options.data()) == kRouterAlert && size == 4) {
      return get16(&options[2]) == 0;
    }
    options = options.subspan(size);
  }
  return false;
}

bool checksum_good(const IpView& packet, std::span<const std::span<const std::byte>> rest) {
  Checksum checksum;
  checksum.add_pseudo_header(packet.source, packet.destination, kProtocolTcp,
                             static_cast<std::uint32_t>(packet.payload.size() + packet.more));
  checksum.add(packet.payload);
  std::size_t left = packet.more;
  for (const auto& piece : rest) {
    checksum.add(piece.first(std::min(piece.size(), left)));
    left -= std::min(piece.size(), left);
  }
  return checksum.finish() == 0;
}

bool known_ipv4_good(const std::byte* ip, std::size_t size, const RxMeta& meta, bool trusted) {
  const std::size_t total = get16(ip + 2);
  if (total < kIpv4HeaderBytes + kTcpHeaderBytes || total > size) {
    return false;
  }
  if (trusted || meta.ip == ChecksumStatus::good) {
    return true;
  }
  return meta.ip != ChecksumStatus::bad && ipv4_header_good(ip);
}

}  // namespace

std::optional<KnownSegment> Interface::input_known(const HeaderPattern& pattern,
                                                   std::span<const std::byte> frame, const RxMeta& meta) {
  Impl& self = *impl_;
  const bool trusted = self.config.trusted_wire;
  const std::byte* const ip = &frame[kEthernetHeaderBytes];
  const std::size_t size = frame.size() - kEthernetHeaderBytes;
  KnownSegment segment;
  std::span<const std::byte> addresses;
  if (pattern.v4()) {
    if (!known_ipv4_good(ip, size, meta, trusted)) {
      return std::nullopt;
    }
    segment.bytes = {ip + kIpv4HeaderBytes, get16(ip + 2) - kIpv4HeaderBytes};
    segment.congestion_experienced = (get8(ip + 1) & kEcnMask) == kCongestionExperienced;
    addresses = {ip + 12, 8};
  } else {
    const std::size_t length = get16(ip + 4);
    if (length < kTcpHeaderBytes || length > size - kIpv6HeaderBytes) {
      return std::nullopt;
    }
    segment.bytes = {ip + kIpv6HeaderBytes, length};
    segment.congestion_experienced = (get16(ip) >> 4 & kEcnMask) == kCongestionExperienced;
    addresses = {ip + 8, 32};
  }
  if (!trusted && meta.tcp != ChecksumStatus::good) {
    Checksum checksum;
    checksum.add_pseudo_header(addresses, kProtocolTcp, static_cast<std::uint32_t>(segment.bytes.size()));
    checksum.add(segment.bytes);
    if (meta.tcp == ChecksumStatus::bad || checksum.finish() != 0) {
      return std::nullopt;
    }
  }
  ++self.counters.tcp;
  return segment;
}

InputResult Interface::Impl::on_ipv4(const FrameView& frame, const RxMeta& meta) {
  const auto bytes = frame.payload;
  if (bytes.size() < kIpv4HeaderBytes || get8(bytes.data()) >> 4 != 4) {
    return malformed();
  }
  const std::size_t header = static_cast<std::size_t>(get8(bytes.data()) & 0x0f) * 4;
  const std::size_t total = get16(&bytes[2]);
  if (header < kIpv4HeaderBytes || total < header || header > bytes.size() ||
      total > bytes.size() + bytes_in(meta.rest)) {
    return malformed();
  }
  const std::size_t here = std::min(total, bytes.size());
  if (!config.trusted_wire && meta.ip != ChecksumStatus::good) {
    Checksum checksum;
    checksum.add(bytes.first(header));
    if (meta.ip == ChecksumStatus::bad || checksum.finish() != 0) {
      ++counters.bad_checksum;
      return {};
    }
  }
  if ((get16(&bytes[6]) & (kMoreFragments | kFragmentOffset)) != 0) {
    ++counters.fragments;
    return {};
  }
  IpView packet{.protocol = get8(&bytes[9]), .hop_limit = get8(&bytes[8])};
  packet.source = v4_at(&bytes[12]);
  packet.destination = v4_at(&bytes[16]);
  packet.congestion_experienced = (get8(&bytes[1]) & kEcnMask) == kCongestionExperienced;
  packet.payload = bytes.subspan(header, here - header);
  packet.more = total - here;
  return on_ip(frame, packet, meta);
}

InputResult Interface::Impl::on_ipv6(const FrameView& frame, const RxMeta& meta) {
  const auto bytes = frame.payload;
  if (bytes.size() < kIpv6HeaderBytes || get8(bytes.data()) >> 4 != 6) {
    return malformed();
  }
  const std::size_t length = get16(&bytes[4]);
  const std::size_t here = std::min(length, bytes.size() - kIpv6HeaderBytes);
  if (length - here > bytes_in(meta.rest)) {
    return malformed();
  }
  IpView packet{.protocol = get8(&bytes[6]), .hop_limit = get8(&bytes[7])};
  packet.source = v6_at(&bytes[8]);
  packet.destination = v6_at(&bytes[24]);
  if (packet.source.is_v4() || packet.destination.is_v4()) {
    return malformed();  // we use IPv4-mapped addresses for IPv4: an IPv6 packet could impersonate an IPv4
                         // neighbour
  }
  packet.congestion_experienced = (get16(bytes.data()) >> 4 & kEcnMask) == kCongestionExperienced;
  packet.payload = bytes.subspan(kIpv6HeaderBytes, here);
  packet.more = length - here;
  for (int i = 0; i < kMaxExtensionHeaders; ++i) {
    const std::uint8_t type = packet.protocol;
    if (type == kFragment) {
      ++counters.fragments;
      return {};
    }
    if (type != kHopByHop && type != kDestinationOptions && type != kRouting) {
      return on_ip(frame, packet, meta);
    }
    const std::size_t size = packet.payload.size() < 8 ? 0 : (std::size_t{get8(&packet.payload[1])} + 1) * 8;
    const bool routed = type == kRouting && size != 0 && get8(&packet.payload[3]) != 0;  // RFC 5095
    if (size == 0 || size > packet.payload.size() || routed) {
      return malformed();
    }
    packet.router_alert =
        packet.router_alert || (type == kHopByHop && has_router_alert(packet.payload.first(size)));
    packet.protocol = get8(packet.payload.data());
    packet.payload = packet.payload.subspan(size);
  }
  return malformed();
}

InputResult Interface::Impl::on_ip(const FrameView& frame, const IpView& packet, const RxMeta& meta) {
  const bool ours = owns(packet.destination);
  const bool group = !packet.destination.is_v4() && packet.destination.is_multicast();
  if (!ours && !(group && packet.protocol == kProtocolIcmpv6)) {
    ++counters.not_for_us;
    return {};
  }
  const bool v4 = packet.destination.is_v4();
  if (packet.protocol == kProtocolTcp) {
    return on_tcp(frame, packet, meta);
  }
  if (packet.more > 0) {
    return malformed();
  }
  if (packet.protocol == kProtocolIcmp && v4) {
    return on_icmp(frame, packet);
  }
  if (packet.protocol == kProtocolIcmpv6 && !v4) {
    return on_icmpv6(frame, packet);
  }
  ++counters.not_for_us;
  return {};
}

InputResult Interface::Impl::on_tcp(const FrameView& frame, const IpView& packet, const RxMeta& meta) {
  if (packet.payload.size() < kTcpHeaderBytes || packet.source.is_multicast() ||
      packet.source.is_unspecified()) {
    return malformed();
  }
  if (!config.trusted_wire && meta.tcp != ChecksumStatus::good) {
    if (meta.tcp == ChecksumStatus::bad || !checksum_good(packet, meta.rest)) {
      ++counters.bad_checksum;
      return {};
    }
  }
  ++counters.tcp;
  return {.kind = InputResult::Kind::tcp,
          .tcp = {.source = packet.source,
                  .destination = packet.destination,
                  .bytes = packet.payload,
                  .more = packet.more,
                  .congestion_experienced = packet.congestion_experienced,
                  .link_source = frame.source},
          .icmp = {}};
}

}  // namespace tfabric::net
