// Neighbour discovery (RFC 4861 §4.3, §4.4, §7.2). Addresses are configured: no autoconfiguration, no
// duplicate address detection of our own; that of others is answered.
#include <cstring>

#include "transport/tcp/net/interface_impl.h"

namespace tfabric::net {
namespace {

constexpr std::uint8_t kSolicitation = 135, kAdvertisement = 136;
constexpr std::uint8_t kSourceLinkAddress = 1, kTargetLinkAddress = 2;
constexpr std::size_t kFixedBytes = 24;  // type to target
constexpr std::size_t kOptionBytes = 8;
constexpr std::uint8_t kSolicited = 0x40, kOverride = 0x20;
constexpr std::uint8_t kNdHopLimit = 255;  // RFC 4861 §6.1.1: proves that no router forwarded it

IpAddress address_at(const std::byte* at) {
  IpAddress address;
  std::memcpy(address.bytes.data(), at, 16);
  return address;
}

// The link-layer address option of a kind; empty if there is none or the options are malformed.
std::optional<MacAddress> link_address(std::span<const std::byte> options, std::uint8_t kind) {
  while (options.size() >= 2) {
    const std::size_t length = std::size_t{get8(&options[1])} * 8;
    if (length == 0 || length > options.size()) {
      return std::nullopt;
    }
    if (get8(options.data()) == kind && length == kOptionBytes) {
      MacAddress mac;
      std::memcpy(mac.bytes.data(), &options[2], 6);
      return mac;
    }
    options = options.subspan(length);
  }
  return std::nullopt;
}

// RFC 4291 §2.7.1 and RFC 2464 §7.
IpAddress solicited_node(const IpAddress& target) {
  IpAddress address = *parse_ip("ff02::1:ff00:0");
  std::memcpy(&address.bytes[13], &target.bytes[13], 3);
  return address;
}

MacAddress multicast_mac(const IpAddress& address) {
  MacAddress mac{{0x33, 0x33}};
  std::memcpy(&mac.bytes[2], &address.bytes[12], 4);
  return mac;
}

}  // namespace

InputResult Interface::Impl::on_solicitation(const IpView& packet, const MacAddress& from) {
  if (packet.payload.size() < kFixedBytes || packet.hop_limit != kNdHopLimit || get8(&packet.payload[1]) != 0) {
    return malformed();
  }
  ++counters.nd;
  const IpAddress target = address_at(&packet.payload[8]);
  if (!owns(target) || !take_reply_token()) {
    return {.kind = InputResult::Kind::handled};
  }
  if (packet.source.is_unspecified()) {
    // Somebody checks for duplicates of our address: RFC 4861 §7.2.4, to all nodes.
    send_advertisement(target, *parse_ip("ff02::1"), MacAddress{{0x33, 0x33, 0, 0, 0, 1}}, /*solicited=*/false);
    return {.kind = InputResult::Kind::handled};
  }
  const MacAddress mac = link_address(packet.payload.subspan(kFixedBytes), kSourceLinkAddress).value_or(from);
  neighbours.learn(packet.source, mac, /*create=*/true, now);
  send_advertisement(target, packet.source, mac, /*solicited=*/true);
  return {.kind = InputResult::Kind::handled};
}

InputResult Interface::Impl::on_advertisement(const IpView& packet, const MacAddress& from) {
  if (packet.payload.size() < kFixedBytes || packet.hop_limit != kNdHopLimit || get8(&packet.payload[1]) != 0) {
    return malformed();
  }
  ++counters.nd;
  const IpAddress target = address_at(&packet.payload[8]);
  const MacAddress mac = link_address(packet.payload.subspan(kFixedBytes), kTargetLinkAddress).value_or(from);
  neighbours.learn(target, mac, /*create=*/false, now);
  return {.kind = InputResult::Kind::handled};
}

void Interface::Impl::send_solicitation(const IpAddress& target) {
  std::array<std::byte, kFixedBytes + kOptionBytes> message{};
  put8(message.data(), kSolicitation);
  std::memcpy(&message[8], target.bytes.data(), 16);
  put8(&message[24], kSourceLinkAddress);
  put8(&message[25], 1);
  std::memcpy(&message[26], config.mac.bytes.data(), 6);
  const IpAddress group = solicited_node(target);
  for (const Prefix& prefix : config.addresses) {
    if (!prefix.address.is_v4()) {
      send_icmp(multicast_mac(group), prefix.address, group, message, kNdHopLimit);
      return;
    }
  }
}

void Interface::Impl::send_advertisement(const IpAddress& target, const IpAddress& to, const MacAddress& to_mac,
                                         bool solicited) {
  std::array<std::byte, kFixedBytes + kOptionBytes> message{};
  put8(message.data(), kAdvertisement);
  put8(&message[4], solicited ? kSolicited | kOverride : kOverride);
  std::memcpy(&message[8], target.bytes.data(), 16);
  put8(&message[24], kTargetLinkAddress);
  put8(&message[25], 1);
  std::memcpy(&message[26], config.mac.bytes.data(), 6);
  send_icmp(to_mac, target, to, message, kNdHopLimit);
}

}  // namespace tfabric::net
