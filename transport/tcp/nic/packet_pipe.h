// Where a port's packets go that needs no driver of DPDK's: a ring of its own process, one that two processes
// share, or a socket of the kernel's.
#pragma once

#include <cstdint>
#include <span>

#include "base/address.h"
#include "transport/tcp/nic/port_capabilities.h"

struct rte_mbuf;
struct rte_mempool;

namespace tfabric::nic {

// Threads: one at a time calls put(), take() and up() (the engine holds its lock).
class PacketPipe {
 public:
  virtual ~PacketPipe() = default;
  PacketPipe(const PacketPipe&) = delete;
  PacketPipe& operator=(const PacketPipe&) = delete;

  // Puts in the first of `packets`, and returns how many: as many as there is room for. They belong to the
  // pipe then, chains as well.
  virtual std::uint16_t put(std::span<rte_mbuf*> packets) = 0;
  // Takes out the oldest packets, at most as many as `out` has room for, and returns how many. `pool` is
  // where new packets come from, if these are copies.
  virtual std::uint16_t take(std::span<rte_mbuf*> out, rte_mempool& pool) = 0;
  // Returns false once the other end has gone and everything that it sent has been taken; for an interface,
  // while it has no link.
  [[nodiscard]] virtual bool up() const { return true; }
  // Why up() is false, for messages.
  [[nodiscard]] virtual const char* why_down() const { return ""; }
  // Any number of buffers a packet, unless the pipe does more.
  [[nodiscard]] virtual PortCapabilities capabilities() const {
    return {.tx_multi_segment = true,
            .tx_segments_max = PortCapabilities::kAnySegments,
            .tx_tso_segments_max = PortCapabilities::kAnySegments};
  }
  // The address of the interface behind it; all zeros if there is none.
  [[nodiscard]] virtual net::MacAddress mac() const { return {}; }

 protected:
  PacketPipe() = default;
};

}  // namespace tfabric::nic
