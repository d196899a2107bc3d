// What a process has of the host's resources, from /proc and the usual places for leftovers.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace tfabric::contract {

std::size_t resident_kib();
std::size_t open_descriptors();

struct Thread {
  std::string name;
  unsigned long long blocked_signals = 0;  // a bit for each signal, from SIGHUP
};
std::vector<Thread> threads();

// Files that a process that has ended left behind. DPDK's carry its number; those of others on the host come
// and go meanwhile.
std::set<std::string> leftovers_of(pid_t process);

}  // namespace tfabric::contract
