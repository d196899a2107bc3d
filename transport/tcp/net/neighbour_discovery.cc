// Neighbour discovery (RFC 4861 §4.3, §4.4, §7.2). There is no autoconfiguration: addresses are
// configured. Duplicates are probed for on demand, and the probes of other hosts are answered (RFC 4862
// §5.4).
#include <algorithm>
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

// The options of a message that are used.
struct Options {
  std::optional<MacAddress> source, target;  // link-layer addresses
};

// Returns nothing if they are malformed: the whole message must then be dropped (RFC 4861 §7.1).
std::optional<Options> read_options(std::span<const std::byte> bytes) {
  Options options;
  while (!bytes.empty()) {
    const std::size_t length = bytes.size() < 2 ? 0 : std::size_t{get8(&bytes[1])} * 8;
    if (length == 0 || length > bytes.size()) {
      return std::nullopt;
    }
    const std::uint8_t kind = get8(bytes.data());
    if (length == kOptionBytes && (kind == kSourceLinkAddress || kind == kTargetLinkAddress)) {
      const MacAddress mac = mac_at(&bytes[2]);
      if (mac.is_group()) {
        return std::nullopt;
      }
      (kind == kSourceLinkAddress ? options.source : options.target) = mac;
    }
    bytes = bytes.subspan(length);
  }
  return options;
}

// Checks what RFC 4861 §7.1 requires of both messages. An IPv4-mapped target would be an IPv4 neighbour for
// us.
bool is_valid(const IpView& packet) {
  if (packet.payload.size() < kFixedBytes || packet.hop_limit != kNdHopLimit ||
      get8(&packet.payload[1]) != 0) {
    return false;
  }
  const IpAddress target = v6_at(&packet.payload[8]);
  return !target.is_multicast() && !target.is_v4() && !packet.source.is_multicast();
}

}  // namespace

IpAddress solicited_node(const IpAddress& target) {
  IpAddress address = *parse_ip("ff02::1:ff00:0");
  std::memcpy(&address.bytes[13], &target.bytes[13], 3);
  return address;
}

MacAddress multicast_mac(const IpAddress& group) {
  MacAddress mac{{0x33, 0x33}};
  std::memcpy(&mac.bytes[2], &group.bytes[12], 4);
  return mac;
}

std::vector<IpAddress> groups_of(const std::vector<Prefix>& addresses) {
  std::vector<IpAddress> groups;
  for (const Prefix& prefix : addresses) {
    if (!prefix.address.is_v4()) {
      groups.push_back(solicited_node(prefix.address));
    }
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

InputResult Interface::Impl::on_solicitation(const IpView& packet, const MacAddress& from) {
  if (!is_valid(packet)) {
    return malformed();
  }
  const auto options = read_options(packet.payload.subspan(kFixedBytes));
  // RFC 4861 §7.1.1: a host without an address must not send its link-layer address.
  const bool nameless = packet.source.is_unspecified();
  if (!options || (nameless && (options->source || !packet.destination.is_multicast()))) {
    return malformed();
  }
  ++counters.nd;
  const IpAddress target = v6_at(&packet.payload[8]);
  const bool answers = owns(target) && take_reply_token();
  if (!answers && (nameless || !overheard || !owns(target))) {
    return {.kind = InputResult::Kind::handled};
  }
  if (nameless) {
    // Another host probes for a duplicate of our address: answered to all nodes (RFC 4861 §7.2.4).
    send_advertisement(target, *parse_ip("ff02::1"), MacAddress{{0x33, 0x33, 0, 0, 0, 1}},
                       /*solicited=*/false);
    return {.kind = InputResult::Kind::handled};
  }
  const MacAddress mac = options->source.value_or(from);
  neighbours.learn(packet.source, mac, /*create=*/true, now);
  if (answers) {
    send_advertisement(target, packet.source, mac, /*solicited=*/true);
  }
  return {.kind = InputResult::Kind::handled};
}

InputResult Interface::Impl::on_advertisement(const IpView& packet, const MacAddress& from) {
  if (!is_valid(packet)) {
    return malformed();
  }
  const auto options = read_options(packet.payload.subspan(kFixedBytes));
  const bool solicited = (get8(&packet.payload[4]) & kSolicited) != 0;
  if (!options || (solicited && packet.destination.is_multicast())) {
    return malformed();  // RFC 4861 §7.1.2
  }
  ++counters.nd;
  const IpAddress target = v6_at(&packet.payload[8]);
  const MacAddress mac = options->target.value_or(from);
  if (owns(target)) {
    on_claim(target, mac);
    return {.kind = InputResult::Kind::handled};
  }
  // Whether it has the Override flag makes no difference: an answer to our request counts (§7.2.5), and what
  // contradicts the neighbour's MAC address otherwise is verified first, with the flag, too.
  if (solicited) {
    neighbours.answer(target, mac, now);
  } else {
    neighbours.learn(target, mac, /*create=*/false, now);
  }
  return {.kind = InputResult::Kind::handled};
}

void Interface::Impl::send_solicitation(const IpAddress& target, const std::optional<MacAddress>& holder) {
  std::array<std::byte, kFixedBytes + kOptionBytes> message{};
  put8(message.data(), kSolicitation);
  std::memcpy(&message[8], target.bytes.data(), 16);
  put8(&message[24], kSourceLinkAddress);
  put8(&message[25], 1);
  std::memcpy(&message[26], config.mac.bytes.data(), 6);
  const IpAddress group = solicited_node(target);
  for (const Prefix& prefix : config.addresses) {
    if (!prefix.address.is_v4()) {
      send_icmp(holder.value_or(multicast_mac(group)), prefix.address, holder ? target : group, message,
                kNdHopLimit);
      return;
    }
  }
}

// RFC 4862 §5.4.2: from the unspecified address, and therefore without the source link-layer address option.
void Interface::Impl::send_duplicate_probe(const IpAddress& target) {
  std::array<std::byte, kFixedBytes> message{};
  put8(message.data(), kSolicitation);
  std::memcpy(&message[8], target.bytes.data(), 16);
  const IpAddress group = solicited_node(target);
  send_icmp(multicast_mac(group), IpAddress{}, group, message, kNdHopLimit);
}

void Interface::Impl::send_advertisement(const IpAddress& target, const IpAddress& to,
                                         const MacAddress& to_mac, bool solicited) {
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
