// Which PCI NICs DPDK's drivers in this build take, as the drivers themselves state it (cmake/dpdk.cmake).
#pragma once

#include <string_view>

#include "host/pci.h"

namespace tfabric::host {

// Returns the name of the driver that takes the function, like "net_ena"; empty if none does. Subsystem ids
// are not looked at: a driver may still refuse a NIC of a vendor that has built others by the same ids.
[[nodiscard]] std::string_view dpdk_driver_of(const PciFunction& function);

}  // namespace tfabric::host
