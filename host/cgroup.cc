#include "host/cgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "host/sysfs.h"

namespace tfabric::host {
namespace {

// Names of a limit's file and of the one with what is used, below a group's folder. `used` is empty where
// the limit counts whatever is used now, since the kernel makes room by itself.
struct Files {
  std::string limit;
  std::string used;
};

// Version 1 says "none" by the largest multiple of a page, version 2 by "max".
constexpr std::uint64_t kNone = std::uint64_t{1} << 62;

// The process's folder in each hierarchy: "9:memory:/a/b" of version 1, "0::/a/b" of version 2.
std::string group_of(const std::string& root, std::string_view controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    std::string_view text(line);
    static_cast<void>(config::take_until(text, ':'));
    std::string_view controllers = config::take_until(text, ':');
    bool found = controllers == controller;
    while (!controllers.empty() && !found) {
      found = config::take_until(controllers, ',') == controller;
    }
    if (found) {
      return std::string(text);
    }
  }
  return "/";
}

// From the group itself up to the root that is mounted, and that one alone if the group is not to be seen.
std::vector<std::string> folders(const std::string& mount, std::string group) {
  std::vector<std::string> folders;
  while (group.size() > 1) {
    folders.push_back(mount + group);
    group.resize(group.rfind('/'));
  }
  folders.push_back(mount);
  return folders;
}

void tighten(const std::string& root, const std::string& folder, const Files& files,
             std::optional<Limit>& tightest) {
  const Sysfs tree(root);
  const std::string file = folder + "/" + files.limit;
  const auto limit = tree.read_number(file.substr(1));
  if (!limit || *limit < 0 || static_cast<std::uint64_t>(*limit) >= kNone) {
    return;
  }
  std::int64_t used = 0;
  if (!files.used.empty()) {
    used = tree.read_number((folder + "/" + files.used).substr(1)).value_or(0);
  }
  const auto left = static_cast<std::uint64_t>(std::max<std::int64_t>(*limit - used, 0));
  if (!tightest || left < tightest->bytes) {
    tightest = Limit{.bytes = left, .used = static_cast<std::uint64_t>(used), .file = file};
  }
}

std::optional<Limit> tightest(const std::string& root, const std::string& controller,
                              const std::vector<Files>& version1, const std::vector<Files>& version2) {
  std::optional<Limit> limit;
  for (const std::string& folder : folders("/sys/fs/cgroup/" + controller, group_of(root, controller))) {
    for (const Files& files : version1) {
      tighten(root, folder, files, limit);
    }
  }
  for (const std::string& folder : folders("/sys/fs/cgroup", group_of(root, ""))) {
    for (const Files& files : version2) {
      tighten(root, folder, files, limit);
    }
  }
  return limit;
}

// As the kernel writes it into the names of its files.
std::string size_name(std::uint64_t bytes) {
  constexpr std::array<std::pair<unsigned, const char*>, 3> kUnits{{{30, "GB"}, {20, "MB"}, {10, "KB"}}};
  for (const auto& [shift, unit] : kUnits) {
    if (bytes >> shift != 0) {
      return fmt::format("{}{}", bytes >> shift, unit);
    }
  }
  return fmt::format("{}", bytes);
}

}  // namespace

std::optional<Limit> hugetlb_limit(const std::string& root, std::uint64_t page_bytes) {
  const std::string name = "hugetlb." + size_name(page_bytes);
  return tightest(root, "hugetlb",
                  {{name + ".limit_in_bytes", name + ".usage_in_bytes"},
                   {name + ".rsvd.limit_in_bytes", name + ".rsvd.usage_in_bytes"}},
                  {{name + ".max", name + ".current"}, {name + ".rsvd.max", name + ".rsvd.current"}});
}

std::optional<Limit> memory_limit(const std::string& root) {
  return tightest(root, "memory", {{"memory.limit_in_bytes", ""}}, {{"memory.max", ""}});
}

}  // namespace tfabric::host
