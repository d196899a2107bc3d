#include "observe/freezer.h"

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
    if (controllers.empty() && (has_line(groups + group + "/cgroup.events", "frozen 1") ||
                                has_line(groups + "/unified" + group + "/cgroup.events", "frozen 1"))) {
      return true;
    }
    if (has_freezer(controllers) && has_line(groups + "/freezer" + group + "/freezer.state", "FROZEN")) {
      return true;
    }
  }
  return false;
}

}  // namespace tfabric::observe
