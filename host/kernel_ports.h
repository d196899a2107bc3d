// The local TCP ports that the kernel gives to connections by itself.
#pragma once

#include <vector>

#include "config/config.h"
#include "host/sysfs.h"

namespace tfabric::host {

struct KernelPorts {
  config::PortRange given{.first = 32768, .last = 60999};  // net.ipv4.ip_local_port_range
  std::vector<config::PortRange> reserved;                 // of these, not: ip_local_reserved_ports

  [[nodiscard]] bool may_give_of(const config::PortRange& range) const;
};

// `proc`: this process's /proc, which shows its network namespace's settings. The kernel's defaults, if they
// cannot be read.
[[nodiscard]] KernelPorts kernel_ports(const Sysfs& proc);

}  // namespace tfabric::host
