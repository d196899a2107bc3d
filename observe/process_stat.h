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

// What is compared with a page's header, to know whose it is.
struct PageOwner {
  std::uint32_t pid_inside = 0;  // in its own PID namespace
  std::uint64_t started = 0;
  bool stopped = false;  // by a signal, a debugger or a freezer
};
// `folder`: "/proc/4242". All is 0 if there is no such process.
[[nodiscard]] PageOwner owner_of(const std::string& folder);

}  // namespace tfabric::observe
