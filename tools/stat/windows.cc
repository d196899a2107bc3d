#include "tools/stat/windows.h"

#include <string_view>

namespace tfabric::stat {
namespace {

// Returns "10.0.0.7" of "10.0.0.7:61313", and "fd00::7" of "[fd00::7]:61313", as paths have them.
std::string_view address_of(std::string_view endpoint) {
  const std::string_view host = endpoint.substr(0, endpoint.rfind(':'));
  return host.size() > 2 && host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

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
