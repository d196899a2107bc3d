#include "observe/process_stat.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "observe/freezer.h"

namespace tfabric::observe {

ProcessStat stat_of(const std::string& folder) {
  std::ifstream file(folder + "/stat");
  std::string line;
  std::getline(file, line);
  // The name of the program may have blanks and parentheses of its own; fields are numbered from 1.
  std::istringstream rest(line.substr(std::min(line.rfind(')') + 1, line.size())));
  constexpr int kState = 3, kStarted = 22;
  ProcessStat stat;
  rest >> stat.state;
  std::string skipped;
  for (int field = kState + 1; field < kStarted; ++field) {
    rest >> skipped;
  }
  rest >> stat.started;
  return stat;
}

PageOwner owner_of(const std::string& folder) {
  PageOwner owner;
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("NSpid:")) {
      std::istringstream words(line.substr(6));
      for (std::uint32_t number = 0; words >> number;) {
        owner.pid_inside = number;  // the innermost comes last
      }
    }
  }
  const ProcessStat stat = stat_of(folder);
  owner.started = stat.started;
  owner.stopped = stat.state == 'T' || stat.state == 't' || is_frozen(folder);
  return owner;
}

}  // namespace tfabric::observe
