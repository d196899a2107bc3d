// The kernel's routes in this process's network namespace.
#pragma once

#include <string>

#include "config/address.h"

namespace tfabric::host {

// Returns false if the kernel has no route by which packets from the address `from`, which is this host's,
// leave by `interface` toward `to`. To a socket that is bound to an interface without one, the kernel takes
// any destination for a neighbour there. True if the kernel cannot say (before Linux 4.13).
[[nodiscard]] bool has_route(const std::string& interface, const config::IpBytes& from,
                             const config::IpBytes& to);

}  // namespace tfabric::host
