// What a comm is made of and what its two ends must know of each other: plain values, which the bootstrap
// exchanges.
//
// Queue pair i of one end is connected with queue pair i of the other, over rail i's counterpart: both ends
// list rails and queue pairs in one order. Numbers are in host byte order; both hosts have the same.
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

namespace cm {
struct Library;
}  // namespace cm

// Rails of a comm, limited by the keys that fit into one announcement; NCCL fuses at most 4 NICs.
inline constexpr std::size_t kMaxRails = 4;
// Queue pairs of a comm: bits of Announcement::queue_pairs.
inline constexpr std::size_t kMaxQueuePairs = 32;

// A port of this host that comms use, with the GID by which they do; belongs to its device and outlives its
// comms.
struct Rail {
  const Verbs* verbs = nullptr;
  ibv::Context* context = nullptr;
  ibv::Pd* pd = nullptr;
  RegistrationCache* registrations = nullptr;
  OpenComms* comms = nullptr;  // null: nobody wants to know them
  // By which queue pairs are connected; null: not by rdma_cm.
  const cm::Library* connection_manager = nullptr;
  std::string name;  // "mlx5_0:1"
  std::uint8_t port = 1;
  std::uint8_t gid_index = 0;
  Gid gid{};
  unsigned interface = 0;  // index of the network interface that has the GID; 0: unknown, or InfiniBand
  std::uint16_t lid = 0;   // InfiniBand
  ibv::LinkLayer link_layer = ibv::LinkLayer::ethernet;
  ibv::Mtu mtu = ibv::Mtu::bytes_1024;
  std::uint32_t max_message_bytes = 1u << 30;  // of one work request (max_msg_sz)
  friend bool operator==(const Rail&, const Rail&) = default;
};

// Of this end. The defaults are NCCL's, for its variables of similar names.
struct ConnectionOptions {
  std::uint8_t queue_pairs = 1;  // a rail
  // Of the receiver: messages to groups whose buffers are larger together are cut over all queue pairs, as
  // with NCCL_IB_SPLIT_DATA_ON_QPS=1 all are (0 here); other groups take turns on them.
  std::uint64_t split_bytes = ~std::uint64_t{0};
  // Of the sender: messages larger than that are written without an immediate, which an empty write then
  // brings, so that adaptive routing may reorder their packets.
  std::uint64_t adaptive_routing_bytes = ~std::uint64_t{0};
  std::uint32_t inline_bytes = 64;
  std::uint16_t pkey_index = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  std::uint8_t timeout = 20;  // 4.096 µs · 2^timeout
  std::uint8_t retry_count = 7;
  // While the receiver of a message has posted nothing for it, which ours always has. Codes of the InfiniBand
  // Architecture Specification: 7 is without end (table 45 has the timer's; 12 is 0.64 ms).
  std::uint8_t rnr_retry = 7;
  std::uint8_t rnr_timer = 12;
  bool flush = true;                             // iflush reads back from GPU memory
  Duration heartbeat = std::chrono::seconds(1);  // of silence, before the peer is asked (heartbeat.h)
  Instant (*now)() = monotonic_now;
};

struct RailEnd {
  Gid gid{};
  std::uint16_t lid = 0;
  ibv::Mtu mtu = ibv::Mtu::bytes_1024;
  std::uint32_t block_rkey = 0;  // of CommBlock
};

struct QueuePairEnd {
  std::uint32_t number = 0;
  std::uint32_t psn = 0;  // 24 bits
  std::uint8_t rail = 0;
};

// One end of a comm, as the other must know it.
struct CommEnd {
  std::vector<RailEnd> rails;
  std::vector<QueuePairEnd> queue_pairs;
  std::uint64_t block = 0;  // address of CommBlock
};

}  // namespace tfabric::rdma
