#include "transport/tcp/nic/packet_filter.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include <cstddef>

#include "base/big_endian.h"

namespace tfabric::nic {
namespace {

// Offsets in a frame whose tag the kernel has taken out: EtherType, and the destination in IPv4 (RFC 791
// §3.1) and IPv6 (RFC 8200 §3).
constexpr std::uint32_t kType = 12, kV4To = 14 + 16, kV6To = 14 + 24;
constexpr std::uint32_t kVlanNumber = 0x0fff;  // IEEE 802.1Q: the rest is priority
constexpr std::uint32_t kWords = 4;            // of an IPv6 address
constexpr std::uint32_t kGroup = 0xff;         // RFC 4291 §2.7: the first byte

// A word of an address, as it is loaded.
std::uint32_t word(const net::IpAddress& address, std::size_t number) {
  return get_big_endian<std::uint32_t>(&address.bytes[4 * number]);
}

constexpr std::size_t kV4Word = 3;  // of an IPv4-mapped address

constexpr sock_filter load(int size, std::uint32_t offset) {
  return {static_cast<std::uint16_t>(BPF_LD | BPF_ABS | size), 0, 0, offset};
}
// What the kernel knows of a frame beside its bytes.
constexpr sock_filter load_extension(int number) {
  return load(BPF_W, static_cast<std::uint32_t>(SKF_AD_OFF + number));
}
constexpr sock_filter mask(std::uint32_t value) { return {BPF_ALU | BPF_AND | BPF_K, 0, 0, value}; }
// Skip so many instructions if what was loaded is the value, or unless it is.
constexpr sock_filter if_skip(std::uint32_t value, std::size_t count) {
  return {BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint8_t>(count), 0, value};
}
constexpr sock_filter unless_skip(std::uint32_t value, std::size_t count) {
  return {BPF_JMP | BPF_JEQ | BPF_K, 0, static_cast<std::uint8_t>(count), value};
}
constexpr sock_filter skip(std::size_t count) {
  return {BPF_JMP | BPF_JA, 0, 0, static_cast<std::uint32_t>(count)};
}
constexpr sock_filter kRefuse{BPF_RET | BPF_K, 0, 0, 0};
constexpr sock_filter kAccept{BPF_RET | BPF_K, 0, 0, 0xffffffff};  // the whole frame

using SocketText = std::vector<sock_filter>;

// Accepts packets of one family.
SocketText for_family(const PacketFilter& filter, bool v4) {
  SocketText text;
  if (!v4) {
    text.insert(text.end(), {load(BPF_B, kV6To), unless_skip(kGroup, 1), kAccept});
  }
  for (const net::IpAddress& address : filter.addresses) {
    if (address.is_v4() != v4) {
      continue;
    }
    if (v4) {
      text.insert(text.end(), {load(BPF_W, kV4To), unless_skip(word(address, kV4Word), 1), kAccept});
      continue;
    }
    for (std::uint32_t i = 0; i < kWords; ++i) {
      text.push_back(load(BPF_W, kV6To + 4 * i));
      text.push_back(unless_skip(word(address, i), 2 * (kWords - 1 - i) + 1));
    }
    text.push_back(kAccept);
  }
  text.push_back(kRefuse);
  return text;
}

}  // namespace

std::vector<sock_filter> socket_filter(const PacketFilter& filter) {
  const SocketText v4 = for_family(filter, true), v6 = for_family(filter, false);
  SocketText text{load_extension(SKF_AD_PKTTYPE), unless_skip(PACKET_OUTGOING, 1), kRefuse,
                  load_extension(SKF_AD_VLAN_TAG), mask(kVlanNumber), if_skip(filter.vlan, 1), kRefuse,
                  load(BPF_H, kType), unless_skip(ETH_P_ARP, 1), kAccept,
                  // Jumps of a condition go no further than 255 instructions.
                  unless_skip(ETH_P_IPV6, 1), skip(v4.size() + 3), unless_skip(ETH_P_IP, 1), skip(1),
                  kRefuse};
  text.insert(text.end(), v4.begin(), v4.end());
  text.insert(text.end(), v6.begin(), v6.end());
  return text;
}

}  // namespace tfabric::nic
