// One network interface below TCP: Ethernet, ARP (RFC 826), neighbour discovery (RFC 4861), multicast
// listener discovery (RFC 3810), IPv4, IPv6 and ICMP, without I/O and without a clock.
//
// Frames come in as bytes. TCP segments for one of our addresses are returned to the caller; the interface
// handles all other frames itself. Its own frames (ARP, ND, MLD, ICMP) wait in a bounded queue until
// next_frame() takes them. The caller builds TCP frames: prepare() returns the Ethernet and IP header for a
// destination. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "transport/tcp/net/checksum.h"
#include "transport/tcp/net/header_pattern.h"
#include "transport/tcp/net/neighbour_table.h"

namespace tfabric::net {

inline constexpr std::size_t kMaxLinkHeaderBytes = 14 + 4 + 40;  // Ethernet, VLAN tag, IPv6

struct InterfaceConfig {
  std::string name;  // for messages
  MacAddress mac;
  std::uint16_t mtu = 1500;  // bytes of the largest IP packet; at most 65535
  std::vector<Prefix> addresses;
  std::optional<IpAddress> gateway_v4;
  std::optional<IpAddress> gateway_v6;
  std::uint16_t vlan = 0;  // 0: untagged
  // The wire has exactly two ends (memif): frames go to the broadcast MAC address, without ARP or ND.
  bool point_to_point = false;
  // Checksums of TCP and IPv4 are neither computed nor checked, because the wire is shared memory.
  bool trusted_wire = false;
  // If the addresses are the kernel's too: the kernel answers for them, and resolves neighbours by this
  // object. Null: they are only ours. Each of several interfaces with the same addresses has an object of its
  // own.
  std::shared_ptr<NeighbourSource> neighbours;
  // Of the random delays of multicast listener reports.
  std::uint64_t seed = 0;
};

// What the driver knows about a received frame's checksums, and the rest of the frame if it is in several
// buffers (large receive offload, mergeable buffers).
enum class ChecksumStatus : std::uint8_t { unknown, good, bad };
struct RxMeta {
  ChecksumStatus ip = ChecksumStatus::unknown;
  ChecksumStatus tcp = ChecksumStatus::unknown;
  std::span<const std::span<const std::byte>> rest;
  // Another engine with the same addresses answers this frame; we only learn from it.
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

// Of a packet whose headers are known.
struct KnownSegment {
  std::span<const std::byte> bytes;  // TCP header, options, payload; checksum verified
  bool congestion_experienced = false;
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

// Another host on the wire uses one of our addresses.
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
  std::uint64_t tcp = 0, arp = 0, nd = 0, mld = 0, icmp = 0, not_for_us = 0, malformed = 0, bad_checksum = 0,
                fragments = 0, reply_queue_full = 0;
};

// The Ethernet and IP header for one destination, complete except for lengths, identification and checksum.
struct LinkHeader {
  // Those beyond `size` are zero.
  std::array<std::byte, kMaxLinkHeaderBytes> bytes;
  std::uint8_t size = 0;       // of Ethernet (+ VLAN) and IP together
  std::uint8_t ip_offset = 0;  // where IP starts
  bool v4 = true;
  // What the packets of a connection have in common in their sums, as Checksum::folded(): the IPv4 header as
  // it is here, and the pseudo-header without the length.
  std::uint16_t ip_sum = 0, pseudo_sum = 0;
};

class Interface {
 public:
  explicit Interface(InterfaceConfig config);
  ~Interface();
  Interface(Interface&&) noexcept;
  Interface& operator=(Interface&&) noexcept;

  [[nodiscard]] const InterfaceConfig& config() const;

  // Takes a received frame. Of a frame in several buffers, `frame` is the first, which must hold all headers;
  // it is dropped unless it is TCP. Frames that are too short, malformed, fragmented, not for us or have a
  // bad checksum are counted and dropped; they are answered only if an RFC asks for it, at a limited rate.
  InputResult input(std::span<const std::byte> frame, const RxMeta& meta, Instant now);
  // The same for a frame in one buffer that `pattern` matches, which this interface's input() was given to
  // learn from: the frame can be nothing but a TCP segment of the same connection. Returns nothing, with
  // nothing counted, if its lengths or checksums are wrong: input() has the answer then.
  std::optional<KnownSegment> input_known(const HeaderPattern& pattern, std::span<const std::byte> frame,
                                          const RxMeta& meta);

  enum class Route : std::uint8_t {
    ready,       // `header` is filled
    pending,     // the neighbour is being resolved; call again after next input() or on_time()
    unreachable  // no route
  };
  Route prepare(const IpAddress& source, const IpAddress& destination, LinkHeader& header, Instant now);
  // Makes the header of an answer to a frame that has just come from `to`, without a neighbour entry: entries
  // for unknown hosts would replace those of our peers.
  void prepare_reply(const IpAddress& source, const IpAddress& destination, const MacAddress& to,
                     LinkHeader& header) const;
  // Changes whenever a header made by prepare() may be out of date.
  [[nodiscard]] std::uint32_t generation() const;
  // Returns true if the next hop to `destination` has left several requests unanswered (about 3 s). Requests
  // go on as long as prepare() is called: the caller decides how long to wait.
  [[nodiscard]] bool is_silent(const IpAddress& destination, Instant now) const;
  // A connection to `destination` times out again and again: its next hop is asked whether it is still there
  // (RFC 1122 §4.2.3.5).
  void doubt(const IpAddress& destination, Instant now);
  // Returns the neighbour that packets to `destination` are sent to; nothing if there is no route.
  [[nodiscard]] std::optional<IpAddress> next_hop(const IpAddress& destination) const;

  // Returns the source address to use toward `destination`: one of ours of the same family, and of the same
  // network if there is one. Returns nothing if we have none of the family.
  [[nodiscard]] std::optional<IpAddress> source_for(const IpAddress& destination) const;
  [[nodiscard]] bool owns(const IpAddress& address) const;

  // Returns the interface's next own frame (ARP, ND, MLD, ICMP) to send; nothing if there is none.
  std::optional<std::vector<std::byte>> next_frame();
  // Announces our addresses (gratuitous ARP, unsolicited NA) and joins their solicited-node groups. Call once
  // the link is up, and again when it was away: a switch forgets its listeners with the link.
  void announce(Instant now);
  // Probes whether another host uses our addresses, as if we did not use them yet (RFC 5227 §2.1.1, RFC 4862
  // §5.4.2). If one answers, conflict() returns it; before announce(), it is not logged.
  void probe_addresses(Instant now);
  // The first conflict that was noticed, by a probe or otherwise.
  [[nodiscard]] const std::optional<AddressConflict>& conflict() const;
  // `upper`: what connections know of our neighbours; null: nothing.
  void on_time(Instant now, const UpperLayer* upper = nullptr);
  [[nodiscard]] Instant next_deadline() const;
  [[nodiscard]] const InterfaceCounters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Writes the IP header of an outgoing TCP packet to `ip`, which must be zero, except for the fields that
// finish_tcp_packet() completes.
void start_ip_header(std::byte* ip, const IpAddress& source, const IpAddress& destination);

// Makes the header of TCP packets from one address to another; `ethernet`: what comes before IP, of the link.
[[nodiscard]] LinkHeader make_link_header(std::span<const std::byte> ethernet, const IpAddress& source,
                                          const IpAddress& destination);

// Completes the headers of one outgoing TCP packet in place: `headers` starts with the bytes of `header`,
// followed by the TCP header (checksum field zero). Writes IP lengths, IPv4 identification and checksum, and
// the TCP checksum as `tcp_checksum` says; only TcpChecksum::software needs the payload's sum. `ecn_capable`:
// the IP header carries ECT(0) (RFC 3168 §5).
struct TcpPayload {
  std::size_t size = 0;
  Checksum sum;
};
enum class TcpChecksum : std::uint8_t {
  software,  // computed here
  hardware,  // the pseudo-header's sum, as NICs expect it
  cut,       // the same without the length, for a packet that the NIC cuts
  none,      // zero, for a trusted wire
};
void finish_tcp_packet(const LinkHeader& header, std::span<std::byte> headers, const TcpPayload& payload,
                       std::uint16_t ip_id, TcpChecksum tcp_checksum, bool ecn_capable);

// The use of a frame, read from its headers without any check or state: engines that share a NIC sort the
// frames that come in by it (link/exchange.h). The checks are made by the engine that the frame belongs to.
struct FrameUse {
  enum class Kind : std::uint8_t {
    tcp,    // a TCP segment for `port`
    news,   // needed by every engine: ARP, ICMP except echo (neighbours, errors about segments)
    other,  // everything else, also malformed frames: handled by the engine that received it
  };
  Kind kind = Kind::other;
  std::uint16_t port = 0;  // tcp: the destination's
};

// `frame`: as received; its beginning is enough. A frame that Interface::input() takes for TCP is `tcp` here,
// with the same port.
[[nodiscard]] FrameUse use_of(std::span<const std::byte> frame);

}  // namespace tfabric::net
