// The kernel driver of a PCI function: which one it is bound to, and how it is handed to another one.
//
// `address` is the PCI address of the function ("0000:00:06.0").
#pragma once

#include <string>
#include <vector>

#include "host/pci.h"
#include "tools/setup/host.h"

namespace tfabric::setup {

// Returns the name of the driver; empty if the function is bound to none.
[[nodiscard]] std::string driver_of(const Host& host, const std::string& address);
// sysfs's driver_override: the only driver that may bind the function; empty if any may.
[[nodiscard]] std::string driver_override_of(const Host& host, const std::string& address);
Status set_driver_override(Host& host, const std::string& address, const std::string& driver);
Status unbind(Host& host, const std::string& address);
// Binds a function that has no driver to one that is loaded. Errors: the driver does not accept it.
Status bind_to(Host& host, const std::string& address, const std::string& driver);

struct Neighbour {
  std::string address, driver;
};
// Returns the other functions of the IOMMU group that prevent VFIO from assigning it: VFIO assigns only whole
// groups, and these are bound to drivers that it does not tolerate.
[[nodiscard]] std::vector<Neighbour> group_neighbours(const Host& host, const std::string& address);
// Returns the process that has the function's VFIO group open, as "PID (name)"; empty if there is none.
// Unbinding the function from VFIO would block until that process ends.
[[nodiscard]] std::string user_of(const Host& host, const std::string& address);
// Waits up to ten seconds for the interface that the function's driver creates; returns its name, or empty.
[[nodiscard]] std::string await_interface(Host& host, const std::string& address);

}  // namespace tfabric::setup
