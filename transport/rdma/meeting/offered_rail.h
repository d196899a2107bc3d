// What one rank says to the other of its ports, so that rails can meet. Sizes are in bytes, speeds in Mbit/s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "transport/rdma/discovery/gid.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma::meeting {

inline constexpr std::size_t kMaxRails = 8;     // NCCL fuses at most 8 devices
inline constexpr std::size_t kMaxHcaName = 63;  // IB_DEVICE_NAME_MAX without the NUL

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
  bool in_reserve = false;  // another device's, which stands in for this one's
  friend bool operator==(const OfferedRail&, const OfferedRail&) = default;
};

// Returns what is wrong with the rails that a peer has; empty if they are valid.
[[nodiscard]] std::string fault_of(std::span<const OfferedRail> rails);

// "mlx5_0:1 (RoCE, GID ::ffff:10.0.1.5, RoCE v2, rail 3)"
[[nodiscard]] std::string describe(const OfferedRail& rail);

}  // namespace tfabric::rdma::meeting
