// `tfabric perf allreduce`: a ring all-reduce among processes of this host, through the plugin, with
// every element checked.
//
// The coordinator starts one process a rank, passes their handles around the ring, names one size after
// another and prints; the ranks do the work (allreduce_rank.cc).
#pragma once

#include <cstdint>

#include "base/result.h"
#include "tools/perf/control.h"
#include "tools/perf/options.h"

namespace tfabric::perf {

inline constexpr std::uint32_t kMaxRanks = 64;

struct AllreduceOptions {
  std::uint32_t ranks = 2;
  std::uint32_t slice_bytes = 512u << 10;
};

// Prints table or JSON. True if all elements were right.
Result<bool> run_allreduce(const LocalOptions& local, const SweepOptions& sweep,
                           const AllreduceOptions& options);

// One rank's process, led by the coordinator at the other end of `control`.
Status run_allreduce_rank(ControlChannel& control, const LocalOptions& local);

// Arguments with which a second process gets the same local options.
std::vector<std::string> local_arguments(const LocalOptions& local);

}  // namespace tfabric::perf
