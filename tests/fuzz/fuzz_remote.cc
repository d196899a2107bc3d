// What another host sends in place of the JSON of `tfabric stat --serve`: all views of it are made, and have
// nothing that a terminal would obey.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/require.h"
#include "tools/stat/compare.h"
#include "tools/stat/findings.h"
#include "tools/stat/log.h"
#include "tools/stat/prometheus.h"
#include "tools/stat/remote.h"
#include "tools/stat/tables.h"
#include "tools/stat/verdicts.h"

using namespace tfabric;
using namespace tfabric::stat;

namespace {

void require_printable(const std::string& text) {
  TFABRIC_REQUIRE(std::all_of(text.begin(), text.end(),
                              [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; }));
}

void require_views(const std::vector<Process>& processes) {
  for (const Level level : {Level::rail, Level::peer, Level::comm, Level::flow}) {
    require_printable(to_text(processes, level));
  }
  require_printable(explain(processes));
  require_printable(log_of(processes));
  for (const auto& lines : {findings_of(processes, 1), slow_of(processes)}) {
    for (const std::string& line : lines) {
      require_printable(line);
    }
  }
}

}  // namespace

// Two documents with a NUL between them, as of two looks; without one, the same twice.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  const auto before = from_json(all.substr(0, end));
  const auto now = from_json(end < all.size() ? all.substr(end + 1) : all);
  if (!now) {
    require_printable(now.error().message);
    return 0;
  }
  require_printable(now->version);
  require_printable(to_prometheus(now->found));
  std::vector<Process> processes = pair(before ? before->found : observe::Found{}, now->found);
  require_views(processes);
  for (Process& process : processes) {
    process.where = "gpu1";
  }
  require_views(processes);
  return 0;
}
