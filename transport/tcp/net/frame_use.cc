// What a frame is for: see use_of() in interface.h.
#include "transport/tcp/net/interface.h"
#include "transport/tcp/net/wire.h"

namespace tfabric::net {
namespace {

constexpr std::size_t kVlanTagBytes = 4;
constexpr std::uint16_t kFragmented = 0x3fff;                    // RFC 791: more fragments, fragment offset
constexpr std::uint8_t kRouting = 43, kDestinationOptions = 60;  // RFC 8200 §4
constexpr int kMaxExtensionHeaders = 8;
constexpr std::uint8_t kEcho = 8, kEchoReply = 0, kV6Echo = 128, kV6EchoReply = 129;

FrameUse of_payload(std::uint8_t protocol, std::span<const std::byte> payload) {
  if (protocol == kProtocolTcp && payload.size() >= 4) {
    return {.kind = FrameUse::Kind::tcp, .port = get16(&payload[2])};
  }
  if (payload.empty()) {
    return {};
  }
  const std::uint8_t type = get8(payload.data());
  const bool news = (protocol == kProtocolIcmp && type != kEcho && type != kEchoReply) ||
                    (protocol == kProtocolIcmpv6 && type != kV6Echo && type != kV6EchoReply);
  return {.kind = news ? FrameUse::Kind::news : FrameUse::Kind::other};
}

FrameUse of_ipv4(std::span<const std::byte> packet) {
  const std::size_t header =
      packet.size() < kIpv4HeaderBytes ? 0 : static_cast<std::size_t>(get8(packet.data()) & 0x0f) * 4;
  if (header < kIpv4HeaderBytes || header > packet.size() || (get16(&packet[6]) & kFragmented) != 0) {
    return {};
  }
  return of_payload(get8(&packet[9]), packet.subspan(header));
}

FrameUse of_ipv6(std::span<const std::byte> packet) {
  if (packet.size() < kIpv6HeaderBytes) {
    return {};
  }
  std::uint8_t protocol = get8(&packet[6]);
  auto payload = packet.subspan(kIpv6HeaderBytes);
  for (int i = 0; i < kMaxExtensionHeaders; ++i) {
    if (protocol != kHopByHop && protocol != kRouting && protocol != kDestinationOptions) {
      return of_payload(protocol, payload);
    }
    const std::size_t size = payload.size() < 8 ? 0 : (std::size_t{get8(&payload[1])} + 1) * 8;
    if (size == 0 || size > payload.size()) {
      return {};
    }
    protocol = get8(payload.data());
    payload = payload.subspan(size);
  }
  return {};
}

}  // namespace

FrameUse use_of(std::span<const std::byte> frame) {
  if (frame.size() < kEthernetHeaderBytes + kVlanTagBytes) {
    return {};
  }
  std::size_t header = kEthernetHeaderBytes;
  std::uint16_t type = get16(&frame[12]);
  if (type == kEtherTypeVlan) {
    type = get16(&frame[16]);
    header += kVlanTagBytes;
  }
  switch (type) {
    case kEtherTypeIpv4:
      return of_ipv4(frame.subspan(header));
    case kEtherTypeIpv6:
      return of_ipv6(frame.subspan(header));
    case kEtherTypeArp:
      return {.kind = FrameUse::Kind::news};
    default:
      return {};
  }
}

}  // namespace tfabric::net
