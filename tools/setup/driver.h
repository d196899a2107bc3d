// Which driver has a PCI function, and giving it to another.
#pragma once

#include <string>

#include "host/pci.h"
#include "tools/setup/host.h"

namespace tfabric::setup {

// Empty: none.
[[nodiscard]] std::string driver_of(const Host& host, const std::string& address);
// sysfs's driver_override: the one driver that may have the function. Empty: any.
[[nodiscard]] std::string driver_override_of(const Host& host, const std::string& address);
Status set_driver_override(Host& host, const std::string& address, const std::string& driver);
Status unbind(Host& host, const std::string& address);
// The driver must be loaded and the function without one. Errors: the driver does not take it.
Status bind_to(Host& host, const std::string& address, const std::string& driver);
// VFIO gives away whole IOMMU groups: what else is in the function's, and has a driver that VFIO does not
// bear.
struct Neighbour {
  std::string address, driver;
};
[[nodiscard]] std::vector<Neighbour> group_neighbours(const Host& host, const std::string& address);
// A process that has the function's group of VFIO's open, as "PID (name)": taking it away from VFIO would
// wait for its end. Empty: none.
[[nodiscard]] std::string user_of(const Host& host, const std::string& address);
// The interface that the function's driver has made, once it is there; empty: none within ten seconds.
[[nodiscard]] std::string await_interface(Host& host, const std::string& address);

}  // namespace tfabric::setup
