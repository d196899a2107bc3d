// How much memory the configured rails take, and of which kind: for the transport, which takes it, and for
// `tfabric check`, which looks beforehand whether it is there.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "host/sysfs.h"
#include "hugepage/budget.h"

namespace tfabric::tcp {

// What DPDK needs for the configured rails, in MiB a process: for each engine its share of the process's two
// shared pools, and a receive pool a rail.
[[nodiscard]] hugepage::Need memory_need_mib(const config::Tcp& config);

// Of this, what AF_XDP locks: each queue of a rail registers the buffers of all.
[[nodiscard]] std::uint32_t af_xdp_locked_mib(const config::Tcp& config);

// Whether a NIC of DPDK's is among the rails.
[[nodiscard]] bool has_nic(const config::Tcp& config);

// Whether a NIC among the rails is driven without an IOMMU. It reads by physical addresses, and so does all
// of the process's DPDK then.
[[nodiscard]] bool takes_physical_addresses(const config::Tcp& config, const host::Sysfs& sysfs);

// What the configuration wants of hugepages, or what such a rail needs, whatever it wants. A memif rail's
// buffers are read by the CPU of the process alone: hugepages are for NICs, unless asked for.
[[nodiscard]] hugepage::Mode page_mode(const config::Config& config, bool physical_addresses);

}  // namespace tfabric::tcp
