// Whether a control group's freezer holds a process (cgroups(7); the kernel's cgroup-v2.rst, "cgroup.freeze",
// and freezer-subsystem.rst of version 1). The kernel does not show it as stopped then.
#pragma once

#include <string>

namespace tfabric::observe {

// `folder`: "/proc/4242". `groups`: where the hierarchies are mounted; that of version 2, too, or below it in
// "unified". Returns false if the process's group is not to be seen from here.
[[nodiscard]] bool is_frozen(const std::string& folder, const std::string& groups = "/sys/fs/cgroup");

}  // namespace tfabric::observe
