// Builds the packet for an outgoing segment: headers in a buffer of their own, payload by reference where
// the link allows it, else by copy.
#pragma once

#include <cstdint>

#include "transport/tcp/net/interface.h"
#include "transport/tcp/nic/port.h"
#include "transport/tcp/stack/segment.h"

struct rte_mbuf;
struct rte_mbuf_ext_shared_info;

namespace tfabric::engine {

struct PacketOptions {
  net::TcpChecksum checksum = net::TcpChecksum::software;
  // Counts the references that packets hold to registered memory: one for the link itself and one for
  // each attached buffer. Null: payload is copied.
  rte_mbuf_ext_shared_info* references = nullptr;
  // The driver reads by DMA: only what has an owner, and so is mapped for it, is referred to.
  bool mapped_only = false;
};

// Null: no packet buffer is free now; nothing has changed, try again later.
rte_mbuf* build_packet(nic::Port& port, const net::LinkHeader& link_header, const stack::SegmentOut& segment,
                       std::uint16_t ip_id, const PacketOptions& options);

}  // namespace tfabric::engine
