// What NCCL's log has at the end of a job: a line for each rail, and one for all of it.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "transport/flows/rail_record.h"

namespace tfabric::device {

struct RailSummary {
  std::string rail;
  bool counts_bytes = true;  // false: the kernel's TCP carries them, or links that have come and gone
  std::uint64_t sent = 0, received = 0;     // bytes of frames
  std::uint64_t payload = 0, repeated = 0;  // bytes of TCP payload sent, and those of them sent before
  std::uint64_t absences = 0;               // of the link
  Duration busy{};                          // in which it has carried more than a trickle; 0: unknown
  flows::RailLosses losses;
};

// "rail eth1: 12.34 GB sent, 1.52 % of it again, 12.31 GB received, 81.2 Gbit/s while it did; no connection
// was lost".
[[nodiscard]] std::string to_string(const RailSummary& summary);

struct JobSummary {
  std::uint64_t bytes = 0;  // sent and received over all rails
  Duration cpu{};           // of the threads that turned the engines
  Duration longest_wait{};  // in which nothing of a comm moved although something was posted
};

// "in all: 24.65 GB, 0.09 s of CPU for each; the longest time in which nothing of a channel moved that waited
// was 3.2 s".
[[nodiscard]] std::string to_string(const JobSummary& summary);

}  // namespace tfabric::device
