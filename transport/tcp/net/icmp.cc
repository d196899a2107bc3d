// ICMP (RFC 792) and ICMPv6 (RFC 4443): echo requests are answered, errors about our TCP segments are
// returned to the caller.
#include <algorithm>

#include "transport/tcp/net/checksum.h"
#include "transport/tcp/net/interface_impl.h"

namespace tfabric::net {
namespace {

constexpr std::size_t kIcmpHeaderBytes = 8;
// ICMP types and codes.
constexpr std::uint8_t kEchoReply = 0, kUnreachable = 3, kEcho = 8, kTimeExceeded = 11;
constexpr std::uint8_t kFragmentationNeeded = 4;
// ICMPv6 types.
constexpr std::uint8_t kV6Unreachable = 1, kV6PacketTooBig = 2, kV6TimeExceeded = 3, kV6Echo = 128,
                       kV6EchoReply = 129, kV6MldQuery = 130, kV6MldReport = 131, kV6Solicitation = 135,
                       kV6Advertisement = 136;

}  // namespace

InputResult Interface::Impl::on_icmp(const FrameView& frame, const IpView& packet) {
  const auto message = packet.payload;
  if (message.size() < kIcmpHeaderBytes) {
    return malformed();
  }
  Checksum checksum;
  checksum.add(message);
  if (checksum.finish() != 0) {
    ++counters.bad_checksum;
    return {};
  }
  ++counters.icmp;
  const std::uint8_t type = get8(message.data()), code = get8(&message[1]);
  switch (type) {
    case kEcho:
      send_echo_reply(frame, packet, kEchoReply);
      break;
    case kUnreachable:
      if (code == kFragmentationNeeded) {
        return quoted_segment(message.subspan(kIcmpHeaderBytes), IcmpError::Kind::packet_too_big,
                              get16(&message[6]), true);
      }
      return quoted_segment(message.subspan(kIcmpHeaderBytes), IcmpError::Kind::unreachable, 0, true);
    case kTimeExceeded:
      return quoted_segment(message.subspan(kIcmpHeaderBytes), IcmpError::Kind::time_exceeded, 0, true);
    default:
      break;
  }
  return {.kind = InputResult::Kind::handled};
}

InputResult Interface::Impl::on_icmpv6(const FrameView& frame, const IpView& packet) {
  const auto message = packet.payload;
  if (message.size() < kIcmpHeaderBytes) {
    return malformed();
  }
  Checksum checksum;
  checksum.add_pseudo_header(packet.source, packet.destination, kProtocolIcmpv6,
                             static_cast<std::uint32_t>(message.size()));
  checksum.add(message);
  if (checksum.finish() != 0) {
    ++counters.bad_checksum;
    return {};
  }
  ++counters.icmp;
  const auto quoted = message.subspan(kIcmpHeaderBytes);
  switch (get8(message.data())) {
    case kV6Echo:
      send_echo_reply(frame, packet, kV6EchoReply);
      break;
    case kV6Unreachable:
      return quoted_segment(quoted, IcmpError::Kind::unreachable, 0, false);
    case kV6PacketTooBig:
      return quoted_segment(quoted, IcmpError::Kind::packet_too_big, get32(&message[4]), false);
    case kV6TimeExceeded:
      return quoted_segment(quoted, IcmpError::Kind::time_exceeded, 0, false);
    case kV6MldQuery:
      return on_mld_query(packet);
    case kV6MldReport:
      return on_mld_report(packet);
    case kV6Solicitation:
      return on_solicitation(packet, frame.source);
    case kV6Advertisement:
      return on_advertisement(packet, frame.source);
    default:
      break;
  }
  return {.kind = InputResult::Kind::handled};
}

void Interface::Impl::send_echo_reply(const FrameView& frame, const IpView& packet, std::uint8_t type) {
  // RFC 1122 §3.2.2: no answer to a group address, or to a packet that was sent to one.
  if (!owns(packet.destination) || packet.source.is_multicast() || packet.source.is_unspecified() ||
      !take_reply_token()) {
    return;
  }
  std::vector<std::byte> message(packet.payload.begin(), packet.payload.end());
  put8(message.data(), type);
  send_icmp(frame.source, packet.destination, packet.source, message, kHopLimit);
}

InputResult Interface::Impl::quoted_segment(std::span<const std::byte> quoted, IcmpError::Kind kind,
                                            std::uint32_t mtu, bool v4) {
  constexpr std::size_t kPortsAndSequence = 8;
  const InputResult handled{.kind = InputResult::Kind::handled};
  IcmpError error{.kind = kind, .mtu = mtu};
  std::size_t header = 0;
  if (v4) {
    // Only a first fragment has the ports.
    constexpr std::uint16_t kFragmentOffset = 0x1fff;
    if (quoted.size() < kIpv4HeaderBytes || get8(quoted.data()) >> 4 != 4 ||
        get8(&quoted[9]) != kProtocolTcp || (get16(&quoted[6]) & kFragmentOffset) != 0) {
      return handled;
    }
    header = static_cast<std::size_t>(get8(quoted.data()) & 0x0f) * 4;
    error.local = v4_at(&quoted[12]);
    error.remote = v4_at(&quoted[16]);
  } else {
    // Our own packets have no extension headers.
    if (quoted.size() < kIpv6HeaderBytes || get8(quoted.data()) >> 4 != 6 ||
        get8(&quoted[6]) != kProtocolTcp) {
      return handled;
    }
    header = kIpv6HeaderBytes;
    error.local = v6_at(&quoted[8]);
    error.remote = v6_at(&quoted[24]);
  }
  if (header < kIpv4HeaderBytes || quoted.size() < header + kPortsAndSequence || error.local.is_v4() != v4 ||
      !owns(error.local)) {
    return handled;
  }
  error.local_port = get16(&quoted[header]);
  error.remote_port = get16(&quoted[header + 2]);
  error.sequence = get32(&quoted[header + 4]);
  return {.kind = InputResult::Kind::icmp_error, .tcp = {}, .icmp = error};
}

}  // namespace tfabric::net
