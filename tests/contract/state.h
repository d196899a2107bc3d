// What a process has of the host's resources, from /proc and the usual places for leftovers.
#pragma once

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

// Files that DPDK and shared memory leave behind when nobody cleans up.
std::set<std::string> leftovers();

}  // namespace tfabric::contract
