// The PCI NICs of this host, from sysfs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/sysfs.h"

namespace tfabric::host {

struct PciFunction {
  std::string address;                   // "0000:00:10.0"
  std::uint16_t vendor = 0, device = 0;  // PCI ids
  std::string driver;                    // the bound driver, such as "vfio-pci"; empty: none
  std::optional<int> iommu_group;  // nothing: no IOMMU is active, and the driver has no group without one
  bool no_iommu = false;           // a group made by VFIO itself, without an IOMMU's protection
  int numa_node = -1;              // -1: unknown
  std::vector<std::string> interfaces;  // network interfaces of its driver
};

// Returns true if the driver is one of UIO's, with or without an IOMMU.
[[nodiscard]] bool has_uio_driver(const PciFunction& function);
// Returns true if the driver gives the function to user space without an IOMMU: the device then accesses any
// memory by physical addresses.
[[nodiscard]] bool goes_without_iommu(const PciFunction& function);
// Returns the path of VFIO's file for the IOMMU group, which the function must have.
[[nodiscard]] std::string vfio_file(const PciFunction& function);

// Returns all Ethernet functions (class 0x0200), sorted by address.
[[nodiscard]] std::vector<PciFunction> ethernet_functions(const Sysfs& sysfs);
// Returns nothing if the host has no function with this address.
[[nodiscard]] std::optional<PciFunction> pci_function(const Sysfs& sysfs, const std::string& address);

}  // namespace tfabric::host
