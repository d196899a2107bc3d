#include "observe/freezer.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string_view>

namespace tfabric::observe {
namespace {

bool has_line(const std::string& path, std::string_view wanted) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line == wanted) {
      return true;
    }
  }
  return false;
}

bool has_freezer(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "freezer") {
      return true;
    }
  }
  return false;
}

}  // namespace

// Both files tell of a group that is frozen with one above it, too. A line of the process's file is like
// "4:freezer:/a/b" (version 1) or "0::/a/b" (version 2).
bool is_frozen(const std::string& folder, const std::string& groups) {
  std::ifstream file(folder + "/cgroup");
  for (std::string number, controllers, group; std::getline(file, number, ':') &&
                                               std::getline(file, controllers, ':') &&
                                               std::getline(file, group);) {
    const bool second = controllers.empty();
    if (second && (has_line(fmt::format("{}{}/cgroup.events", groups, group), "frozen 1") ||
                   has_line(fmt::format("{}/unified{}/cgroup.events", groups, group), "frozen 1"))) {
      return true;
    }
    if (has_freezer(controllers) &&
        has_line(fmt::format("{}/freezer{}/freezer.state", groups, group), "FROZEN")) {
      return true;
    }
  }
  return false;
}

}  // namespace tfabric::observe
