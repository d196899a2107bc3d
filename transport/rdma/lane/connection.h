// What a comm consists of and what its two ends must know about each other: plain values, which the session
// layer exchanges.
//
// Queue pair i of one end is connected to queue pair i of the other; both ends list rails and queue pairs in
// the same order. Numbers are in host byte order, which is the same on both hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "transport/rdma/discovery/gid.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

class OpenComms;
class RegistrationCache;

// The number of rails is limited by the keys that fit into an announcement. NCCL fuses at most 4 NICs.
inline constexpr std::size_t kMaxRails = 4;
// As many as NCCL_IB_QPS_PER_CONNECTION allows.
inline constexpr std::size_t kMaxQueuePairs = 128;

// A port of this host together with the GID that comms use on it. Belongs to its device and outlives its
// comms.
struct Rail {
  const Verbs* verbs = nullptr;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  RegistrationCache* registrations = nullptr;
  OpenComms* comms = nullptr;  // list of the port's comms; may be null
  std::string name;            // "mlx5_0:1"
  std::uint8_t port = 1;
  std::uint8_t gid_index = 0;
  Gid gid{};
  std::uint16_t lid = 0;  // InfiniBand
  LinkLayer link_layer = LinkLayer::ethernet;
  bool grh_required = false;  // InfiniBand: packets need a global route header (IBV_QPF_GRH_REQUIRED)
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint32_t max_message_bytes = 1u << 30;  // of one work request (the port's max_msg_sz)
  friend bool operator==(const Rail&, const Rail&) = default;
};

// Options of this end. The defaults are those of NCCL's variables of similar names.
struct ConnectionOptions {
  std::uint8_t queue_pairs = 1;  // on each rail
  // Used by the receiver. A group whose buffers exceed this size in total is split over all queue pairs;
  // other groups use one queue pair in turn. 0 splits all, as NCCL_IB_SPLIT_DATA_ON_QPS=1 does.
  std::uint64_t split_bytes = ~std::uint64_t{0};
  // Used by the sender. Larger messages are written without an immediate, which a separate empty write
  // carries, so that adaptive routing may reorder their packets.
  std::uint64_t adaptive_routing_bytes = ~std::uint64_t{0};
  std::uint32_t inline_bytes = 64;
  std::uint16_t pkey_index = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  std::uint8_t timeout = 20;  // 4.096 µs · 2^timeout
  std::uint8_t retry_count = 7;
  // For a receiver that has posted no receive, which ours always has. Codes of the InfiniBand Architecture
  // Specification: a retry count of 7 means no limit; table 45 lists the timer codes, of which 12 is 0.64 ms.
  std::uint8_t rnr_retry = 7;
  std::uint8_t rnr_timer = 12;
  bool flush = true;                             // iflush reads from GPU memory
  Duration heartbeat = std::chrono::seconds(1);  // silence before the peer is probed (meeting.h)
  Instant (*now)() = monotonic_now;
};

struct RailEnd {
  Gid gid{};
  std::uint16_t lid = 0;
  bool grh_required = false;
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint32_t block_rkey = 0;  // of the CommBlock
};

struct QueuePairEnd {
  std::uint32_t number = 0;
  std::uint32_t psn = 0;  // 24 bits
  std::uint8_t rail = 0;
};

// What one end of a comm must know about the other.
struct CommEnd {
  std::vector<RailEnd> rails;
  std::vector<QueuePairEnd> queue_pairs;
  std::uint64_t block = 0;  // address of the CommBlock
};

}  // namespace tfabric::rdma
