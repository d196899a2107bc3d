#include "observe/log_reader.h"

#include <algorithm>

namespace tfabric::observe {

std::vector<LoggedLine> logged_lines(const Snapshot& page) {
  const ReadTable& table = page.table("log");
  std::vector<LoggedLine> lines;
  for (const ReadRow& row : table.rows) {
    lines.push_back({.number = table.number(row, "number").value_or(0),
                     .logged_at = table.number(row, "logged_at").value_or(0),
                     .warns = table.text(row, "level") == "warn",
                     .text = table.text(row, "text")});
  }
  std::sort(lines.begin(), lines.end(),
            [](const LoggedLine& a, const LoggedLine& b) { return a.number < b.number; });
  return lines;
}

}  // namespace tfabric::observe
