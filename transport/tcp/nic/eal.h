// DPDK's environment abstraction layer (EAL) inside this library.
//
// It is started once a process, on a thread of our own, so that the caller's CPU affinity, signal handlers,
// locale and log stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tfabric::nic {

struct EalOptions {
  // NICs to probe, as pci_arguments() names them; none: --no-pci.
  std::vector<std::string> pci_allow;
  bool hugepages = false;          // false: --no-huge
  std::uint32_t memory_mib = 256;  // the most that DPDK may map
  int numa_node = -1;              // -1: any
  // NICs are driven without an IOMMU, by physical addresses. This takes hugepages and root's rights.
  bool physical_addresses = false;
  // Another process maps the memory, as vhost does, so it must be in few files. Without hugepages it always
  // is in one.
  bool shared_memory = false;
};

// Starts EAL. A second call succeeds if it asks for no other NIC than the first: EAL cannot be started again.
// Errors (Errc::unusable) name what is missing and how to fix it.
Status start_eal(const EalOptions& options);
[[nodiscard]] bool eal_started();

// Returns the ticks a second of the counter that DPDK's timers read, measured within some milliseconds.
[[nodiscard]] std::uint64_t measure_tsc_rate();

// Returns what DPDK has logged as errors since the last call, up to some length; empty if there is nothing.
[[nodiscard]] std::string take_dpdk_error();

}  // namespace tfabric::nic
