// The PCI NICs of this host, as sysfs tells: for the tools, and for whoever opens one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/sysfs.h"

namespace tfabric::host {

struct PciFunction {
  std::string address;                   // "0000:00:10.0"
  std::uint16_t vendor = 0, device = 0;  // PCI's numbers
  std::string driver;                    // that has it now, such as "vfio-pci"; empty: none
  std::optional<int> iommu_group;        // none: no IOMMU is active, and no driver does without
  bool no_iommu = false;                 // the group is VFIO's own, which nothing protects
  int numa_node = -1;                    // -1: the host does not tell
  std::vector<std::string> interfaces;   // network interfaces that its driver has made
};

// Its driver is one of UIO's, whether there is an IOMMU or not.
[[nodiscard]] bool has_uio_driver(const PciFunction& function);
// Its driver gives it to user space without an IOMMU: it reads and writes by physical addresses, whatever
// they are of.
[[nodiscard]] bool goes_without_iommu(const PciFunction& function);
// VFIO's file of its IOMMU group, which it must have.
[[nodiscard]] std::string vfio_file(const PciFunction& function);

// All Ethernet functions (class 0x0200), by address.
[[nodiscard]] std::vector<PciFunction> ethernet_functions(const Sysfs& sysfs);
// Nothing if the host has no such function.
[[nodiscard]] std::optional<PciFunction> pci_function(const Sysfs& sysfs, const std::string& address);

}  // namespace tfabric::host
