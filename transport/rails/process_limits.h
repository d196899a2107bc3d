// What DPDK cannot do without, whatever the rails, and a container or `ulimit` may refuse to a process. It is
// checked before EAL starts: later the refusal would look like a fault of the network, or end the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/config.h"

namespace tfabric::rails {

struct ProcessLimits {
  std::uint64_t descriptors = 0;       // RLIMIT_NOFILE
  std::uint64_t descriptors_left = 0;  // of these
  std::uint64_t file_bytes = 0;        // RLIMIT_FSIZE; the largest number if unlimited
  std::string memory_file_fault;       // why memfd_create(2) fails; empty: it does not
  int cpu = 0;                         // the first CPU that the process may use
  bool cpu_visible = true;             // /sys/devices/system/cpu shows it
};

[[nodiscard]] ProcessLimits process_limits();

struct ProcessFault {
  std::string what;
  std::string fix;
};
// Returns the first fault for these rails.
[[nodiscard]] std::optional<ProcessFault> process_fault(const config::Tcp& config,
                                                        const ProcessLimits& limits);

}  // namespace tfabric::rails
