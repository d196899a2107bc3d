// Which rails a process uses, of those that the configuration lists and every process of the host shows NCCL.
//
// A NIC has one user-space owner, so ranks share the exclusive rails out among themselves by their local
// rank. Shown are all of them by all, since NCCL's search for paths must come to the same in each rank;
// traffic over one that another process has goes over the process's own (docs/rails.md).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace tfabric::tcp {

// Whether only one process can have the rail at a time: all but memif rails whose processes find each other.
[[nodiscard]] bool is_exclusive(const config::Rail& rail);

struct RailShare {
  // Numbers of exclusive rails. All of them are the process's; or, with `any`, the first `any` that nobody
  // has.
  std::vector<std::size_t> rails;
  std::size_t any = 0;
  std::string why;  // for messages, such as "local rank 1 of 4 (LOCAL_RANK)"
};

// Errc::unusable, in all processes of the host alike if their number is known, where there are fewer
// exclusive rails than processes, and no other.
Result<RailShare> share_of(const config::Tcp& config, const config::Launcher& launcher);

// With the rails of a process alone: those that all have, and its share, or of those that it may get the ones
// with the largest packets; with all if no process gets any.
[[nodiscard]] config::Tcp largest_share(const config::Config& config);

}  // namespace tfabric::tcp
