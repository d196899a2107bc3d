// The packet-buffer pools of the process: one for headers, one for buffers that refer to outside memory, and
// receive pools. Without hugepages, buffers are made when they are needed (growing_pool.h). All functions are
// thread-safe, and need EAL.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

struct rte_mempool;

namespace tfabric::nic {

// Bytes of room in a header buffer: a whole frame of MTU 1500. With all that DPDK keeps of a packet, the
// buffer has 31 cache lines, or 15 of arm64's 128 bytes, so that two lie on a page. One of 32 or 16 lines
// DPDK would lengthen, for the sake of memory channels, to a page of its own.
#if defined(__aarch64__)
inline constexpr std::uint16_t kHeaderRoom = 1536;
#else
inline constexpr std::uint16_t kHeaderRoom = 1664;
#endif

// Where super-segments of 64 KiB come in or go out in buffers of a receive pool, these hold an IP packet of
// this size, so that it takes five of them. Each has four pages, with all that belongs to it. What is done
// for each buffer costs more than the copy of 2 KiB.
inline constexpr std::uint32_t kSuperSegmentMtu = 15744;

// Sets how many engines share the two pools below; must be called before they are made.
void size_shared_pools(unsigned engines);
// Made at the first call, and kept until the process ends.
Result<rte_mempool*> header_pool();
Result<rte_mempool*> external_pool();

// The room for a frame in a buffer that is made for IP packets of `mtu` bytes.
[[nodiscard]] std::uint32_t receive_bytes(std::uint32_t mtu);
// Makes a pool of `count` buffers, each with room for a frame with an IP packet of `mtu` bytes in one piece,
// for any driver. The pool outlives its packets. Its last owner gives hugepages back to the host. Ordinary
// memory cannot be given back, and clearing it takes DPDK longer than all else that closes a port: it is kept
// for the next pool of the same shape.
Result<std::shared_ptr<rte_mempool>> make_receive_pool(const std::string& name, std::uint32_t count,
                                                       std::uint32_t mtu, int numa_node);
// The same, of buffers that take a page each, with all that DPDK keeps of a packet: AF_XDP's umem is made of
// these. Neither the kernel nor a NIC can use a buffer that crosses two pages of ordinary memory.
Result<std::shared_ptr<rte_mempool>> make_page_pool(const std::string& name, std::uint32_t count,
                                                    int numa_node);

}  // namespace tfabric::nic
