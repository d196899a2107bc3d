// What the kernel says of a process (proc_pid_stat(5)).
#pragma once

#include <cstdint>
#include <string>

namespace tfabric::observe {

struct ProcessStat {
  char state = '?';
  std::uint64_t started = 0;  // clock ticks since boot; 0: not known
};

// `folder`: "/proc/self", or another process's.
[[nodiscard]] ProcessStat stat_of(const std::string& folder);

}  // namespace tfabric::observe
