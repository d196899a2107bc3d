// The line that NCCL's log has for each rail at the end of a job.
#pragma once

#include <cstdint>
#include <string>

#include "transport/tcp/flows/rail_record.h"

namespace tfabric::tcp {

struct RailSummary {
  std::string rail;
  bool counts_bytes = true;  // false: the kernel's TCP carries them, or links that have come and gone
  std::uint64_t sent = 0, received = 0;     // bytes of frames
  std::uint64_t payload = 0, repeated = 0;  // bytes of TCP payload sent, and those of them sent before
  std::uint64_t absences = 0;               // of the link
  RailLosses losses;
};

// "rail eth1: 12.34 GB sent, 1.52 % of it again, 12.31 GB received; no connection was lost".
[[nodiscard]] std::string to_string(const RailSummary& summary);

}  // namespace tfabric::tcp
