#include "tools/stat/windows.h"

#include "tools/stat/rates.h"

namespace tfabric::stat {
std::map<PathName, std::uint64_t> windows_of(const observe::Snapshot& page) {
  const observe::ReadTable& flows = page.table("flow");
  std::map<PathName, std::uint64_t> windows;
  for (const observe::ReadRow& row : flows.rows) {
    const PathName path{flows.text(row, "rail"), address_of(flows.text(row, "peer"))};
    windows[path] += flows.number(row, "cwnd").value_or(0);
  }
  return windows;
}

}  // namespace tfabric::stat
