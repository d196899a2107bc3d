// What one rank tells the other so that their queue pairs can be connected: its rails, on each its queue
// pairs and the keys of its memory, and how it wants messages to be sent. The connector's offer and the
// acceptor's answer are of this one kind. Plain data, no objects of verbs.
//
// Its encoding: options, rails, memory, each counted, little-endian (bytes.h). Units: bytes, Mbit/s. Limits
// are of what a peer may claim, so that a wrong one costs little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/rdma/discovery/gid.h"
#include "transport/rdma/verbs/abi.h"

namespace tfabric::rdma::session {

inline constexpr std::size_t kMaxRails = 8;        // NCCL's fused devices have at most 8 members
inline constexpr std::size_t kMaxQueuePairs = 32;  // on a rail; what an announcement can name
inline constexpr std::size_t kMaxMemories = 8;
inline constexpr std::size_t kMaxHcaName = 63;  // IB_DEVICE_NAME_MAX, less the NUL

struct QueuePairEnd {
  std::uint32_t number = 0;  // 24 bits
  std::uint32_t psn = 0;     // the first it sends, 24 bits
  friend bool operator==(const QueuePairEnd&, const QueuePairEnd&) = default;
};

// One port, as the peer must know it.
struct OfferedRail {
  std::string hca;  // for messages
  std::uint8_t port = 1;
  ibv::LinkLayer link_layer = ibv::LinkLayer::ethernet;
  std::uint64_t guid = 0;
  std::uint16_t lid = 0;  // InfiniBand
  Gid gid{};
  GidType gid_type = GidType::roce_v2;
  std::uint8_t prefix_length = 0;  // of the GID's subnet, of 128 bits (InfiniBand: 64); 0: unknown
  std::uint32_t mtu = 1024;        // payload of a packet
  std::uint32_t speed_mbps = 0;    // 0: unknown
  std::int16_t rail_id = -1;       // as rdma.hca has it; -1: it has none
  std::int16_t plane_id = -1;
  std::uint16_t cm_port = 0;  // of an answer: where rdma_cm listens for the queue pairs; 0: nowhere
  std::vector<QueuePairEnd> queue_pairs;
  std::vector<std::uint32_t>
      keys;  // rkeys on this rail, one for each of Offer::memory; with queue pairs only
  friend bool operator==(const OfferedRail&, const OfferedRail&) = default;
};

// Memory that the peer reads or writes. Which is which by position is the data path's own convention.
struct OfferedMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const OfferedMemory&, const OfferedMemory&) = default;
};

struct OfferOptions {
  std::uint16_t qps = 1;  // queue pairs that it would have on each rail
  bool split = false;     // each message over all of them
  bool rdma_cm = false;   // they can be connected by rdma_cm
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  friend bool operator==(const OfferOptions&, const OfferOptions&) = default;
};

struct Offer {
  OfferOptions options;
  std::vector<OfferedRail> rails;  // in the order of the host's ports
  std::vector<OfferedMemory> memory;
  std::uint64_t cm_token = 0;  // of an answer: what requests to its cm_ports must bring
  friend bool operator==(const Offer&, const Offer&) = default;
};

// What is wrong with it; empty: nothing.
[[nodiscard]] std::string fault_of(const Offer& offer);

// `offer` must be without fault.
[[nodiscard]] std::vector<std::byte> encode(const Offer& offer);
// Errc::remote: the bytes are not what encode() makes of an offer without fault.
[[nodiscard]] Result<Offer> parse_offer(std::span<const std::byte> body);

// "mlx5_0:1 (RoCE, GID ::ffff:10.0.1.5, RoCE v2, rail 3)"
[[nodiscard]] std::string describe(const OfferedRail& rail);

}  // namespace tfabric::rdma::session
