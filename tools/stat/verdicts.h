// What the watchdogs of processes have found (transport/watchdog/), for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/stat/rates.h"

namespace tfabric::stat {

struct VerdictView : observe::VerdictFacts {
  double lasted_s = 0;
  double ended_s = 0;  // ago
  bool goes_on = false;

  // As the log has it: "rank 7 ... [not-sending]".
  [[nodiscard]] std::string line() const;
};

// The newest first.
[[nodiscard]] std::vector<VerdictView> verdicts_of(const observe::Snapshot& page);
// Lines about what goes on: "rank 3 (process 4242): rank 7 ... [not-sending]".
[[nodiscard]] std::vector<std::string> present_verdicts(const Process& process);
// All that is known of why the processes stand still, or stood still.
[[nodiscard]] std::string explain(const std::vector<Process>& processes);

}  // namespace tfabric::stat
