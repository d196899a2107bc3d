// What one rank sends to the other so that their queue pairs can be connected: its rails, the queue pairs and
// memory keys on each, and how messages shall be sent. The connector's offer and the acceptor's answer have
// the same type. Plain data without verbs objects.
//
// Encoding: options, rails, memory, with counts, little-endian (base/wire_codec.h). Sizes are in bytes,
// speeds in Mbit/s. The limits bound what a peer can claim, so that wrong data costs little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/rdma/discovery/gid.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma::session {

inline constexpr std::size_t kMaxRails = 8;         // NCCL fuses at most 8 devices
inline constexpr std::size_t kMaxQueuePairs = 128;  // of a comm, and so on a rail
inline constexpr std::size_t kMaxMemories = 8;
inline constexpr std::size_t kMaxHcaName = 63;  // IB_DEVICE_NAME_MAX without the NUL

struct QueuePairEnd {
  std::uint32_t number = 0;  // 24 bits
  std::uint32_t psn = 0;     // first packet number that it sends, 24 bits
  friend bool operator==(const QueuePairEnd&, const QueuePairEnd&) = default;
};

// What a peer must know about a port.
struct OfferedRail {
  std::string hca;  // for log and error messages
  std::uint8_t port = 1;
  LinkLayer link_layer = LinkLayer::ethernet;
  std::uint64_t guid = 0;
  std::uint16_t lid = 0;      // InfiniBand
  bool grh_required = false;  // InfiniBand: its packets, in both directions, need a global route header
  Gid gid{};
  GidType gid_type = GidType::roce_v2;
  std::uint8_t prefix_length = 0;  // of the GID's subnet, out of 128 bits (InfiniBand: 64); 0 if unknown
  std::uint32_t mtu = 1024;        // bytes of payload in a packet
  std::uint32_t speed_mbps = 0;    // 0: unknown
  std::int16_t rail_id = -1;       // set by rdma.hca; -1 if not set
  std::int16_t plane_id = -1;
  std::vector<QueuePairEnd> queue_pairs;
  std::vector<std::uint32_t>
      keys;  // rkeys on this rail, one for each of Offer::memory, if it has queue pairs
  friend bool operator==(const OfferedRail&, const OfferedRail&) = default;
};

// Memory that the peer reads or writes. The lanes define the meaning of each position.
struct OfferedMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const OfferedMemory&, const OfferedMemory&) = default;
};

struct OfferOptions {
  std::uint16_t qps = 1;  // wanted number of queue pairs on each rail
  bool split = false;     // split each message over all of them
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  friend bool operator==(const OfferOptions&, const OfferOptions&) = default;
};

struct Offer {
  OfferOptions options;
  std::vector<OfferedRail> rails;  // ordered as the host's ports
  std::vector<OfferedMemory> memory;
  friend bool operator==(const Offer&, const Offer&) = default;
};

// Returns what is wrong with the offer; empty if it is valid.
[[nodiscard]] std::string fault_of(const Offer& offer);

// `offer` must be valid.
[[nodiscard]] std::vector<std::byte> encode(const Offer& offer);
// Fails with Errc::remote unless the bytes are the encoding of a valid offer.
[[nodiscard]] Result<Offer> parse_offer(std::span<const std::byte> body);

// "mlx5_0:1 (RoCE, GID ::ffff:10.0.1.5, RoCE v2, rail 3)"
[[nodiscard]] std::string describe(const OfferedRail& rail);

}  // namespace tfabric::rdma::session
