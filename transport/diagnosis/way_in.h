// By which of its interfaces a host is reached. No fix takes such an interface or its address away, since
// that would cut the administrator off.
#pragma once

#include <string>
#include <vector>

#include "transport/diagnosis/host.h"

namespace tfabric::diagnosis {

// Returns the interface and all that lie on it: its bond or bridge, its VLANs
// (/sys/class/net/NAME/upper_*).
[[nodiscard]] std::vector<std::string> stack_on(const Host& host, const std::string& interface);

// Returns how the host is reached by the interface, or by one that lies on it, as in "eth0 has the default
// route of IPv4"; empty if it is not known to be. The preferred default route of the main table counts
// (/proc/net/route, ipv6_route), and so do open TCP connections of other hosts (/proc/net/tcp, tcp6), ssh
// sessions among them.
[[nodiscard]] std::string way_in_by(const Host& host, const std::string& interface);

}  // namespace tfabric::diagnosis
