// DPDK's environment abstraction layer inside this library: started once a process, on a thread of our
// own, so that the caller's CPU affinity, signal handlers, locale and log stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tfabric::nic {

struct EalOptions {
  std::vector<std::string> pci_allow;  // PCI addresses to probe; none: --no-pci
  bool hugepages = false;              // false: --no-huge
  std::uint32_t memory_mib = 256;      // the most that DPDK may map
  int numa_node = -1;                  // -1: any
  // NICs are driven without an IOMMU: they are told physical addresses, which takes hugepages and root's
  // rights.
  bool physical_addresses = false;
  // Another process is to map it, as vhost does: in few files. Without hugepages it is one file always.
  bool shared_memory = false;
};

// Starts EAL; a second call is checked against the first (same process, so what is running stays) and
// succeeds. Errors (Errc::unusable) name what is missing and how to fix it.
Status start_eal(const EalOptions& options);
[[nodiscard]] bool eal_started();

}  // namespace tfabric::nic
