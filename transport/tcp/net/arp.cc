// ARP for IPv4 over Ethernet (RFC 826), with detection of address conflicts (RFC 5227).
#include <cstring>

#include "transport/tcp/net/interface_impl.h"

namespace tfabric::net {
namespace {

constexpr std::size_t kArpBytes = 28;
constexpr std::uint16_t kRequest = 1, kReply = 2;
constexpr std::uint32_t kEthernetIpv4 = 0x00010800;  // hardware and protocol type
constexpr std::uint16_t kLengths = 0x0604;

}  // namespace

InputResult Interface::Impl::on_arp(const FrameView& frame) {
  const std::byte* at = frame.payload.data();
  if (frame.payload.size() < kArpBytes || get32(at) != kEthernetIpv4 || get16(at + 4) != kLengths) {
    return malformed();
  }
  const std::uint16_t operation = get16(at + 6);
  const MacAddress sender_mac = mac_at(at + 8);
  if (sender_mac.is_group()) {
    return malformed();  // RFC 1812 §3.3.2: no host has such an address
  }
  const IpAddress sender = v4_at(at + 14);
  const IpAddress target = v4_at(at + 24);
  ++counters.arp;
  if (owns(sender)) {
    on_claim(sender, sender_mac);
    return {.kind = InputResult::Kind::handled};
  }
  const bool for_us = owns(target);
  if (operation == kReply && for_us) {
    neighbours.answer(sender, sender_mac, now);
  } else if (!sender.is_unspecified()) {
    neighbours.learn(sender, sender_mac, /*create=*/for_us, now);
  }
  if (operation == kRequest && for_us && take_reply_token()) {
    send_arp(kReply, sender_mac, target, sender_mac, sender);
  }
  return {.kind = InputResult::Kind::handled};
}

void Interface::Impl::send_arp(std::uint16_t operation, const MacAddress& to, const IpAddress& sender,
                               const MacAddress& target_mac, const IpAddress& target) {
  std::vector<std::byte> frame = start_frame(to, kEtherTypeArp, kArpBytes);
  std::byte* at = &frame[ethernet_size()];
  put32(at, kEthernetIpv4);
  put16(at + 4, kLengths);
  put16(at + 6, operation);
  std::memcpy(at + 8, config.mac.bytes.data(), 6);
  std::memcpy(at + 14, &sender.bytes[12], 4);
  std::memcpy(at + 18, target_mac.bytes.data(), 6);
  std::memcpy(at + 24, &target.bytes[12], 4);
  queue(std::move(frame));
}

}  // namespace tfabric::net
