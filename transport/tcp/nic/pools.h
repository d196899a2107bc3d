// Packet-buffer pools of the process: one for headers, one for buffers that refer to outside memory, and
// the making of receive pools.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

struct rte_mempool;

namespace tfabric::nic {

// Bytes that a header buffer has room for: a whole frame of MTU 1500, and with all that DPDK keeps of a
// packet no more than 31 cache lines. Two such buffers lie on a page; one of 32 lines DPDK would make longer,
// for the sake of memory channels, and give a page of its own.
inline constexpr std::uint16_t kHeaderRoom = 1664;

// How many engines will share the two pools below; counts until they are made. Thread-safe.
void size_shared_pools(unsigned engines);
// Made at the first call, kept until the process ends. Thread-safe.
Result<rte_mempool*> header_pool();
Result<rte_mempool*> external_pool();
// A pool of `count` buffers, each with room for a frame with an IP packet of `mtu` bytes in one piece, for
// any driver. It outlives its packets. Hugepages go back to the host with its last owner; ordinary memory
// cannot, and DPDK would clear it, which takes longer than all else of a port's end: it is kept for the next
// pool, if that is of the same shape. Thread-safe.
Result<std::shared_ptr<rte_mempool>> make_receive_pool(const std::string& name, std::uint32_t count,
                                                       std::uint32_t mtu, int numa_node);
// The same, of buffers that take a page each, with all that DPDK keeps of a packet: what AF_XDP's umem is
// made of. Neither the kernel nor a NIC can use a buffer that lies across two pages of ordinary memory.
Result<std::shared_ptr<rte_mempool>> make_page_pool(const std::string& name, std::uint32_t count,
                                                    int numa_node);

}  // namespace tfabric::nic
