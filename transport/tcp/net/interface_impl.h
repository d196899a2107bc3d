// The parts of an interface. Private to net/.
#pragma once

#include <deque>

#include "transport/tcp/net/interface.h"
#include "transport/tcp/net/multicast_listener.h"
#include "transport/tcp/net/neighbour_table.h"
#include "transport/tcp/net/wire.h"

namespace tfabric::net {

inline constexpr MacAddress kBroadcast{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

// RFC 4291 §2.7.1.
[[nodiscard]] IpAddress solicited_node(const IpAddress& target);
// RFC 2464 §7.
[[nodiscard]] MacAddress multicast_mac(const IpAddress& group);
// Returns the solicited-node groups of the IPv6 addresses, each once.
[[nodiscard]] std::vector<IpAddress> groups_of(const std::vector<Prefix>& addresses);

// A frame's payload, after the Ethernet header and VLAN tag.
struct FrameView {
  MacAddress source;
  MacAddress destination;
  std::uint16_t type = 0;
  std::span<const std::byte> payload;
};

// An IP packet whose header has been checked.
struct IpView {
  IpAddress source;
  IpAddress destination;
  std::uint8_t protocol = 0;
  std::uint8_t hop_limit = 0;
  bool congestion_experienced = false;
  bool router_alert = false;  // for MLD (RFC 2711 §2.1)
  std::span<const std::byte> payload;
  std::size_t more = 0;  // bytes of payload that are in RxMeta::rest
};

struct Interface::Impl {
  explicit Impl(InterfaceConfig c);

  // --- interface.cc
  [[nodiscard]] bool owns(const IpAddress& address) const;
  [[nodiscard]] std::optional<IpAddress> source_for(const IpAddress& destination) const;
  void queue(std::vector<std::byte> frame);
  bool take_reply_token();
  [[nodiscard]] std::vector<std::byte> start_frame(const MacAddress& destination, std::uint16_t type,
                                                   std::size_t payload) const;
  [[nodiscard]] std::size_t ethernet_size() const {
    return kEthernetHeaderBytes + (config.vlan != 0 ? 4 : 0);
  }
  void request(const NeighbourTable::Request& request);
  // The sender of a frame claims `address`, which is ours: an address conflict.
  void on_claim(const IpAddress& address, const MacAddress& mac);
  InputResult malformed() {
    ++counters.malformed;
    return {};
  }

  // --- arp.cc
  InputResult on_arp(const FrameView& frame);
  void send_arp(std::uint16_t operation, const MacAddress& to, const IpAddress& sender,
                const MacAddress& target_mac, const IpAddress& target);

  // --- ip_input.cc
  InputResult on_ipv4(const FrameView& frame, const RxMeta& meta);
  InputResult on_ipv6(const FrameView& frame, const RxMeta& meta);
  InputResult on_ip(const FrameView& frame, const IpView& packet, const RxMeta& meta);
  InputResult on_tcp(const FrameView& frame, const IpView& packet, const RxMeta& meta);

  // --- icmp.cc
  InputResult on_icmp(const FrameView& frame, const IpView& packet);
  InputResult on_icmpv6(const FrameView& frame, const IpView& packet);
  void send_echo_reply(const FrameView& frame, const IpView& packet, std::uint8_t type);
  // Returns the TCP segment that an ICMP error quotes; no `icmp_error` if the segment is not ours.
  InputResult quoted_segment(std::span<const std::byte> quoted, IcmpError::Kind kind, std::uint32_t mtu,
                             bool v4);

  // --- neighbour_discovery.cc
  InputResult on_solicitation(const IpView& packet, const MacAddress& from);
  InputResult on_advertisement(const IpView& packet, const MacAddress& from);
  // `holder`: the MAC address to ask; nothing: the target's group is asked.
  void send_solicitation(const IpAddress& target, const std::optional<MacAddress>& holder);
  void send_duplicate_probe(const IpAddress& target);
  void send_advertisement(const IpAddress& target, const IpAddress& to, const MacAddress& to_mac,
                          bool solicited);

  // --- mld.cc
  InputResult on_mld_query(const IpView& packet);
  InputResult on_mld_report(const IpView& packet);
  // Sends the reports that are due.
  void send_reports();

  // --- ip_output.cc
  std::optional<IpAddress> next_hop(const IpAddress& destination) const;
  void write_link_header(const MacAddress& to, const IpAddress& source, const IpAddress& destination,
                         LinkHeader& header) const;
  // Sends a whole frame with an ICMP message, and fills in its checksum. `options`: for IPv6, the hop-by-hop
  // options header, whose first byte is filled in; empty: there is none.
  void send_icmp(const MacAddress& to, const IpAddress& source, const IpAddress& destination,
                 std::span<const std::byte> message, std::uint8_t hop_limit,
                 std::span<const std::byte> options = {});

  InterfaceConfig config;
  NeighbourTable neighbours;
  MulticastListener listener;
  std::deque<std::vector<std::byte>> frames;
  InterfaceCounters counters;
  Instant now{};
  bool overheard = false;  // of the current frame: RxMeta
  double reply_tokens = 0;
  Instant reply_refilled{};
  std::optional<AddressConflict> conflict;
  bool probing = false;  // from the first probe until the addresses are announced
};

}  // namespace tfabric::net
