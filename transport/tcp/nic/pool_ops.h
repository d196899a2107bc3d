// How packet-buffer pools are filled.
#pragma once

namespace tfabric::nic {

// The name of the mempool operations that a pool shall have. With hugepages, DPDK's best for packets.
// Without, those of its rings, and the kernel is asked for a pool's pages before they are touched: the first
// touch of a page of ordinary memory is a trap, which costs more than to be given the page, above all where a
// hypervisor has to see each of them. EAL must have been started. Thread-safe.
const char* pool_ops();

}  // namespace tfabric::nic
