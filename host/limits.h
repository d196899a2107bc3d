// What the kernel's settings leave to this process: memory within its control groups, locked memory, CPUs,
// and local TCP ports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "host/sysfs.h"

namespace tfabric::host {

// The limit of a control group, of version 1 or 2. In a container, the process's own group is the root.
struct Limit {
  std::uint64_t bytes = 0;  // what is left below the limit
  std::uint64_t used = 0;
  std::string file;  // where it is set, for messages
};

// Return the tightest limit among the process's group and those above it; nothing if there is none. `root` is
// put before /sys and /proc; tests pass their own.
[[nodiscard]] std::optional<Limit> hugetlb_limit(const std::string& root, std::uint64_t page_bytes);
[[nodiscard]] std::optional<Limit> memory_limit(const std::string& root);

// Returns this process's soft limit, such as of RLIMIT_NOFILE; the largest number if it is unlimited.
[[nodiscard]] std::uint64_t resource_limit(int resource);
// Returns true if a file of this number, the lowest that was free, or -1, shows that the process has opened
// half of the files that it may: the rest is left to the other libraries in it.
[[nodiscard]] bool files_are_scarce(int number);
// Returns RLIMIT_MEMLOCK in bytes.
[[nodiscard]] std::uint64_t memlock_limit();
// Returns how many CPUs the process may run on.
[[nodiscard]] int usable_cpus();
// Returns the lowest CPU that the process may run on; 0 if the kernel does not say.
[[nodiscard]] int first_usable_cpu();

// The local TCP ports that the kernel assigns to connections by itself.
struct KernelPorts {
  config::PortRange given{.first = 32768, .last = 60999};  // net.ipv4.ip_local_port_range
  std::vector<config::PortRange> reserved;  // excluded from `given`: net.ipv4.ip_local_reserved_ports

  // Returns true if the kernel may assign a port of `range`.
  [[nodiscard]] bool may_give_of(const config::PortRange& range) const;
};

// `proc` is this process's /proc, which shows the settings of its network namespace. Returns the kernel's
// defaults for what cannot be read.
[[nodiscard]] KernelPorts kernel_ports(const Sysfs& proc);

}  // namespace tfabric::host
