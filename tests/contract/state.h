// What a process has of the host's resources, from /proc and the usual places for leftovers.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace tfabric::contract {

std::size_t resident_kib();

// Open descriptors, by one look at each.
struct Descriptors {
  std::size_t connections = 0;  // of the kernel's TCP, such as the witness's, being made or made
  std::size_t others = 0;
  [[nodiscard]] std::size_t all() const { return connections + others; }
};
Descriptors open_descriptors();

struct Thread {
  std::string name;
  unsigned long long blocked_signals = 0;  // a bit for each signal, from SIGHUP
};
std::vector<Thread> threads();

// Returns the files that a process left behind when it ended. DPDK's files have its number in their names, so
// those of other processes on the host do not matter.
std::set<std::string> leftovers_of(pid_t process);

}  // namespace tfabric::contract
