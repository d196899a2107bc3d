#include "observe/verdict/process.h"

#include <fmt/format.h>

namespace tfabric::verdict {

std::string name_of(const Process& process) {
  if (process.pid == 0) {
    return process.rank < 0 ? std::string() : fmt::format("rank {}", process.rank);
  }
  const std::string at = process.host.empty() ? std::string() : fmt::format(" on {}", process.host);
  return process.rank < 0 ? fmt::format("process {}{}", process.pid, at)
                          : fmt::format("rank {} (pid {}{})", process.rank, process.pid, at);
}

}  // namespace tfabric::verdict
