// What is wrong with the processes of this host, for `tfabric stat --check`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/stat/rates.h"

namespace tfabric::stat {

// Returns a line for each process that does not run, or has ended and left its page, rail without a link,
// rail that stands in for others, or did lately, or carries nothing while others do, and wait that its
// process has found a cause of; without one, for each process's request that has not moved for `stuck_s` or
// longer.
[[nodiscard]] std::vector<std::string> findings_of(const std::vector<Process>& processes, double stuck_s);

// Says that the process has ended, is stopped, or has not run its network for `least_s` or longer; nothing if
// it runs.
[[nodiscard]] std::optional<std::string> standstill_of(const Process& process, double least_s);
// What that means, of a process of which standstill_of() says something.
[[nodiscard]] std::string about_standstill(const Process& process);

// A line each.
[[nodiscard]] std::string in_lines(const std::vector<std::string>& lines);

// "rank 3 (process 4242)"; "rank 3 (process 4242 on gpu1)" of another host.
[[nodiscard]] std::string name_of(const Process& process);

}  // namespace tfabric::stat
