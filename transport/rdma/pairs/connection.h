// What a queue pair is made of, and what its two ends must know about each other: plain values.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "transport/rdma/discovery/gid.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

// A port of this host together with the GID that queue pairs use on it. It outlives them.
struct Rail {
  const Verbs* verbs = nullptr;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  std::string name;  // "mlx5_0:1"
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
  // Used by the sender. Larger messages are written without an immediate, which a separate empty write
  // carries, so that adaptive routing may reorder their packets.
  std::uint64_t adaptive_routing_bytes = ~std::uint64_t{0};
  std::uint32_t inline_bytes = 64;  // at most, of what the CPU has written
  std::uint16_t pkey_index = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  std::uint8_t timeout = 20;  // 4.096 µs · 2^timeout
  std::uint8_t retry_count = 7;
  // For a receiver that has posted no receive, which ours always has. Codes of the InfiniBand Architecture
  // Specification: a retry count of 7 means no limit; table 45 lists the timer codes, of which 12 is 0.64 ms.
  std::uint8_t rnr_retry = 7;
  std::uint8_t rnr_timer = 12;
  Instant (*now)() = monotonic_now;
};

struct RailEnd {
  Gid gid{};
  std::uint16_t lid = 0;
  bool grh_required = false;
  ibv_mtu mtu = IBV_MTU_1024;
};

struct QueuePairEnd {
  std::uint32_t number = 0;
  std::uint32_t psn = 0;  // 24 bits
};

}  // namespace tfabric::rdma
