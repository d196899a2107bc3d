// One buffer instead of several, for drivers that take no chains.
#pragma once

#include <rte_mbuf.h>

namespace tfabric::nic {

// A packet of the same bytes and offload flags in one buffer from `pool`; null if none is free or large
// enough. The original stays as it is.
rte_mbuf* linearised_copy(const rte_mbuf& packet, rte_mempool* pool);

}  // namespace tfabric::nic
