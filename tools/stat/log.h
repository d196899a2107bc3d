// What processes have logged lately, whether NCCL has printed it or not.
#pragma once

#include <string>
#include <vector>

#include "tools/stat/rates.h"

namespace tfabric::stat {

// A line each, of all processes in the order of time, by this host's clock:
// "2026-11-28 03:12:04.123 rank 3 (process 4242): WARN rail eni1 ...".
[[nodiscard]] std::string log_of(const std::vector<Process>& processes);

}  // namespace tfabric::stat
