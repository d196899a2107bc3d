// `tfabric perf allreduce`: a ring all-reduce among processes of this host and of others, through the plugin,
// with every element checked.
//
// The coordinator starts one process per rank, passes their handles around the ring, announces one size after
// another and prints; the ranks do the work (allreduce_rank.cc). On another host an agent starts the ranks
// (allreduce_agent.cc), each of which then has its own connection to the coordinator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/control/channel.h"
#include "tools/control/listener.h"
#include "tools/perf/command.h"

namespace tfabric::perf {

struct AllreduceOptions {
  std::uint32_t ranks = 2;          // per host
  std::vector<std::string> hosts;   // besides this one
  std::vector<std::string> tokens;  // of the agents: one for all, or one for each host
  std::uint16_t port = 0;           // where the agents listen
  std::uint32_t slice_bytes = 512u << 10;
};

// What an agent serves: the invitation's service.
inline constexpr const char* kAllreduceService = "tfabric perf allreduce";

// Prints the table or JSON. Returns true if all elements were right.
Result<bool> run_allreduce(const LocalOptions& local, const SweepOptions& sweep,
                           const AllreduceOptions& options);

// Waits for one coordinator, starts the ranks that it asks for, and waits for their end. Returns the exit
// code of the first rank that fails, or kOk.
Result<int> run_allreduce_agent(const LocalOptions& local, control::Listener& listener);

// The process of one rank. The coordinator is at the other end of `control`.
Status run_allreduce_rank(control::Channel& control, const LocalOptions& local);

// Returns the command line of a child process with the same local options.
std::vector<std::string> with_local_options(std::vector<std::string> command, const LocalOptions& local);
inline const std::vector<std::string> kRankCommand{"perf", "allreduce"};

}  // namespace tfabric::perf
