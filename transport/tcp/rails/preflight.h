// What all processes of a host can see of all of its rails before any is opened. Each looks at all of them,
// and not at its own alone, so that they come to the same conclusion: NCCL's ranks must all use one network.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "host/interfaces.h"
#include "host/limits.h"
#include "host/sysfs.h"

namespace tfabric::tcp {

struct HostView {
  host::Sysfs sysfs;
  std::vector<host::Interface> interfaces;
  std::vector<host::LocalAddress> addresses;  // the kernel's
  host::KernelPorts ports;
};

[[nodiscard]] HostView view_of_host();
// The first fault, with its fix. An interface that is in another network namespace is none: it may be the
// rail of a process there.
[[nodiscard]] Status check_rails(const config::Tcp& config, const HostView& host);

}  // namespace tfabric::tcp
