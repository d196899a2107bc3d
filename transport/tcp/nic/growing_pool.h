// Pools of packet buffers in ordinary memory that take pages as they need them.
//
// A pool is as large as the worst case wants it, and most processes use little of it, but each buffer that is
// made touches a page or two, whose faults take longer than all else that a process does at its start. So
// buffers are made when all that were made are in use: a few hundred with the first packets, and more with
// the first of such a burst as the process has not seen yet. They stay.
//
// DPDK's drivers take buffers by themselves, so the growth lies below them, in the pool's own operations
// (rte_mempool_ops): DPDK's rings, but for this. NICs that work with hugepages have pools of these, made at
// once: few faults, and drivers that register a pool's memory want all of it.
#pragma once

#include <rte_mempool.h>

#include <cstdint>
#include <string>

namespace tfabric::nic {

// The name of the mempool operations; null if DPDK has no slot for them, or no rings. A pool with them and
// without a pool_config does not grow; when it is filled, the pages are requested from the kernel at once.
[[nodiscard]] const char* growing_ops();

// Creates a pool of up to `count` buffers with `room` bytes for data each, which refer to no outside memory.
// Null, with rte_errno set, if there is no memory for all of them. Freed by rte_mempool_free(). Like all
// pools, it may be used by any thread.
[[nodiscard]] rte_mempool* create_growing_pool(const std::string& name, std::uint32_t count, unsigned cache,
                                               std::uint16_t room, int numa_node);

// How many buffers of a pool, of any kind, are in use. As exact as rte_mempool_avail_count().
[[nodiscard]] unsigned in_use(const rte_mempool* pool);

}  // namespace tfabric::nic
