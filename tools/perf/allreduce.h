// `tfabric perf allreduce`: a ring all-reduce among processes of this host and others, through the plugin,
// with every element checked.
//
// The coordinator starts one process a rank, passes their handles around the ring, names one size after
// another and prints; the ranks do the work (allreduce_rank.cc). On another host an agent starts the ranks
// (allreduce_agent.cc), each of which then has a connection to the coordinator of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/perf/control.h"
#include "tools/perf/options.h"

namespace tfabric::perf {

inline constexpr std::uint32_t kMaxRanks = 64;

struct AllreduceOptions {
  std::uint32_t ranks = 2;         // of each host
  std::vector<std::string> hosts;  // beside this one
  std::uint16_t port = 0;          // where their agents listen
  std::uint32_t slice_bytes = 512u << 10;
};

// What leads a rank on another host asks its agent first: {"local_rank": …, "local_size": …}. The agent
// answers when it hands the connection to the rank's process.
inline constexpr const char* kLocalRank = "local_rank";
inline constexpr const char* kLocalSize = "local_size";

// Prints table or JSON. True if all elements were right.
Result<bool> run_allreduce(const LocalOptions& local, const SweepOptions& sweep,
                           const AllreduceOptions& options);

// Waits for one coordinator, starts the ranks that it asks for, and waits for their end: the exit code of the
// first that fails, or kOk.
Result<int> run_allreduce_agent(const LocalOptions& local, std::uint16_t port);

// One rank's process, led by the coordinator at the other end of `control`.
Status run_allreduce_rank(ControlChannel& control, const LocalOptions& local);

// The command line of a further process with the same local options.
std::vector<std::string> with_local_options(std::vector<std::string> command, const LocalOptions& local);
inline const std::vector<std::string> kRankCommand{"perf", "allreduce"};

}  // namespace tfabric::perf
