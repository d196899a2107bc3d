// One network interface below TCP: Ethernet, ARP (RFC 826), neighbour discovery (RFC 4861), IPv4, IPv6
// and ICMP, without I/O and without a clock.
//
// Frames come in as bytes; what is TCP for one of our addresses is handed back to the caller, everything
// else is dealt with here. Frames that the interface itself wants to send (ARP, ND, ICMP) wait in a
// bounded queue until next_frame() takes them. TCP frames are built by the caller: prepare() gives the
// Ethernet and IP header for a destination. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "transport/tcp/net/address.h"
#include "transport/tcp/net/neighbour_source.h"

namespace tfabric::net {

inline constexpr std::size_t kEthernetHeaderBytes = 14;
inline constexpr std::size_t kMaxLinkHeaderBytes = 14 + 4 + 40;  // Ethernet, VLAN tag, IPv6
inline constexpr std::uint8_t kProtocolTcp = 6;

struct InterfaceConfig {
  std::string name;  // in messages
  MacAddress mac;
  std::uint16_t mtu = 1500;  // bytes of the largest IP packet; at most 65535
  std::vector<Prefix> addresses;
  std::optional<IpAddress> gateway_v4;
  std::optional<IpAddress> gateway_v6;
  std::uint16_t vlan = 0;  // 0: untagged
  // The wire joins exactly two ends (memif): the peer's MAC is taken as broadcast, no ARP or ND needed.
  bool point_to_point = false;
  // Checksums of TCP and IPv4 are neither made nor checked: a wire through memory.
  bool trusted_wire = false;
  // The addresses are the kernel's too, which answers for them and knows the neighbours; null: they are ours
  // alone. Whoever has several interfaces with these addresses has one for each.
  std::shared_ptr<NeighbourSource> neighbours;
};

// What the driver knows about a received frame's checksums, and where the rest of it lies if it is in several
// pieces (large receive offload, mergeable buffers).
enum class ChecksumStatus : std::uint8_t { unknown, good, bad };
struct RxMeta {
  ChecksumStatus ip = ChecksumStatus::unknown;
  ChecksumStatus tcp = ChecksumStatus::unknown;
  std::span<const std::span<const std::byte>> rest;
  // Somebody else who has these addresses answers this frame; we only learn from it.
  bool overheard = false;
};

struct TcpPacket {
  IpAddress source;
  IpAddress destination;
  std::span<const std::byte> bytes;  // TCP header, options, payload; checksum verified
  std::size_t more = 0;              // bytes of payload that are in RxMeta::rest
  bool congestion_experienced = false;
  MacAddress link_source;  // of the frame
};

// An ICMP error about one of our TCP segments. Not yet validated against the connection (RFC 5927 §4).
struct IcmpError {
  enum class Kind : std::uint8_t { unreachable, packet_too_big, time_exceeded };
  Kind kind = Kind::unreachable;
  IpAddress local, remote;  // of the quoted segment: its source and destination
  std::uint16_t local_port = 0, remote_port = 0;
  std::uint32_t sequence = 0;
  std::uint32_t mtu = 0;  // packet_too_big
};

// Somebody else on the wire has an address of ours.
struct AddressConflict {
  IpAddress address;
  MacAddress mac;
};

struct InputResult {
  enum class Kind : std::uint8_t { tcp, icmp_error, handled, dropped };
  Kind kind = Kind::dropped;
  TcpPacket tcp;
  IcmpError icmp;
};

// Counters, each the number of frames.
struct InterfaceCounters {
  std::uint64_t tcp = 0, arp = 0, nd = 0, icmp = 0, not_for_us = 0, malformed = 0, bad_checksum = 0,
                fragments = 0, reply_queue_full = 0;
};

// The Ethernet and IP header for one destination, ready but for lengths, identification and checksum.
struct LinkHeader {
  std::array<std::byte, kMaxLinkHeaderBytes> bytes;
  std::uint8_t size = 0;       // of Ethernet (+ VLAN) and IP together
  std::uint8_t ip_offset = 0;  // where IP starts
  bool v4 = true;
};

class Interface {
 public:
  explicit Interface(InterfaceConfig config);
  ~Interface();
  Interface(Interface&&) noexcept;
  Interface& operator=(Interface&&) noexcept;

  [[nodiscard]] const InterfaceConfig& config() const;

  // Of a frame in several pieces, `frame` is the first, and must hold all headers; it is dropped unless it is
  // TCP. Frames too short, malformed, with a bad
  // checksum, fragmented or not for us are counted and dropped; nothing is answered to them but what the
  // RFCs ask for, at a limited rate.
  InputResult input(std::span<const std::byte> frame, const RxMeta& meta, Instant now);

  enum class Route : std::uint8_t {
    ready,       // `header` is filled
    pending,     // the neighbour is being resolved; call again after next input() or on_time()
    unreachable  // no route
  };
  Route prepare(const IpAddress& source, const IpAddress& destination, LinkHeader& header, Instant now);
  // The header of an answer to a frame that has just come from `to`, back the way it came: strangers cost no
  // neighbour entry, which would crowd out those we talk to.
  void prepare_reply(const IpAddress& source, const IpAddress& destination, const MacAddress& to,
                     LinkHeader& header) const;
  // Changes whenever a header made by prepare() may have become stale.
  [[nodiscard]] std::uint32_t generation() const;
  // The neighbour on the way to `destination` has left several requests unanswered (about 3 s). It goes on
  // being asked as long as prepare() is called: whether to wait is for the caller to say.
  [[nodiscard]] bool is_silent(const IpAddress& destination, Instant now) const;

  // The source address to use toward `destination`: one of ours of the same family, the one that shares
  // its network if there is one. Empty if we have none of the family.
  [[nodiscard]] std::optional<IpAddress> source_for(const IpAddress& destination) const;
  [[nodiscard]] bool owns(const IpAddress& address) const;

  // The next frame of the interface's own (ARP, ND, ICMP) to put on the wire; empty if there is none.
  std::optional<std::vector<std::byte>> next_frame();
  // Announces our addresses (gratuitous ARP, unsolicited NA). Call once the link is up.
  void announce(Instant now);
  // Asks whether somebody else has our addresses, as one who does not have them yet (RFC 5227 §2.1.1, RFC
  // 4862 §5.4.2). Who has answers, and conflict() tells of it; the log does not, before announce().
  void probe_addresses(Instant now);
  // The first that was noticed, by a probe or by the way.
  [[nodiscard]] const std::optional<AddressConflict>& conflict() const;
  void on_time(Instant now);
  [[nodiscard]] Instant next_deadline() const;
  [[nodiscard]] const InterfaceCounters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The IP header of an outgoing TCP packet, in zeros at `ip`, but for what finish_tcp_packet() completes.
void start_ip_header(std::byte* ip, const IpAddress& source, const IpAddress& destination);

// Completes the headers of one outgoing TCP packet in place: `packet` starts with the bytes of `header`,
// followed by the TCP header (checksum field zero); `pieces` is the payload that follows. Writes IP
// lengths, IPv4 identification and checksum, and the TCP checksum unless `tcp_checksum` says otherwise.
// `ecn_capable`: the IP header carries ECT(0) (RFC 3168 §5).
enum class TcpChecksum : std::uint8_t {
  software,  // computed here
  hardware,  // the pseudo-header's sum is stored, as NICs expect it
  cut,       // and, of a packet that the NIC is to cut, the sum without its length
  none,      // left zero: a trusted wire
};
void finish_tcp_packet(const LinkHeader& header, std::span<std::byte> packet,
                       std::span<const std::span<const std::byte>> pieces, std::uint16_t ip_id,
                       TcpChecksum tcp_checksum, bool ecn_capable);

}  // namespace tfabric::net
