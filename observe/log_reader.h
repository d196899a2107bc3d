// The lines of a process's log, as its page has them (observe/log_lines.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/reader.h"

namespace tfabric::observe {

struct LoggedLine {
  std::uint64_t number = 0;
  std::uint64_t logged_at = 0;  // as the page has it
  bool warns = false;
  std::string text;
};

// The oldest first.
[[nodiscard]] std::vector<LoggedLine> logged_lines(const Snapshot& page);

}  // namespace tfabric::observe
