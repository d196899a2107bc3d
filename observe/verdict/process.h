// How verdicts name a process.
#pragma once

#include <cstdint>
#include <string>

namespace tfabric::verdict {

struct Process {
  std::int32_t rank = -1;  // in the whole job; -1: no launcher reports it
  std::uint32_t pid = 0;   // in its own PID namespace; 0: unknown
  std::string host;        // empty: unknown
  friend bool operator==(const Process&, const Process&) = default;
};

// "rank 7 (pid 4242 on gpu2)", "process 4242 on gpu2"; empty if nothing is known.
[[nodiscard]] std::string name_of(const Process& process);

}  // namespace tfabric::verdict
