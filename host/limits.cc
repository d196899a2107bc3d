#include "host/limits.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

#include "config/value.h"

namespace tfabric::host {
namespace {

// Names of the files with a limit and with its current usage, in a group's folder. `used` is empty where
// usage does not count against the limit, because the kernel reclaims memory on demand.
struct Files {
  std::string limit;
  std::string used;
};

// No limit is written as the largest multiple of a page in version 1, and as "max" in version 2.
constexpr std::uint64_t kNone = std::uint64_t{1} << 62;

// The process's folder in a hierarchy: a line is like "9:memory:/a/b" (version 1) or "0::/a/b" (version 2).
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

// All folders from the group up to the mounted root. In a container, only the root may exist.
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

// A page size as it appears in the names of the kernel's files.
std::string size_name(std::uint64_t bytes) {
  constexpr std::array<std::pair<unsigned, const char*>, 3> kUnits{{{30, "GB"}, {20, "MB"}, {10, "KB"}}};
  for (const auto& [shift, unit] : kUnits) {
    if (bytes >> shift != 0) {
      return fmt::format("{}{}", bytes >> shift, unit);
    }
  }
  return fmt::format("{}", bytes);
}

// "first-last" or "first last", or one port.
std::optional<config::PortRange> parse_ports(std::string_view text) {
  const std::size_t gap = text.find_first_of("- \t");
  const auto first = config::parse_integer(config::trimmed(text.substr(0, gap)));
  const auto last =
      gap == std::string_view::npos ? first : config::parse_integer(config::trimmed(text.substr(gap + 1)));
  constexpr std::int64_t kMost = 65535;
  if (!first || !last || *first < 0 || *last < *first || *last > kMost) {
    return std::nullopt;
  }
  return config::PortRange{.first = static_cast<std::uint16_t>(*first),
                           .last = static_cast<std::uint16_t>(*last)};
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

std::uint64_t resource_limit(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  return limit.rlim_cur;
}

bool files_are_scarce(int number) {
  return number < 0 || static_cast<std::uint64_t>(number) >= resource_limit(RLIMIT_NOFILE) / 2;
}

std::uint64_t memlock_limit() { return resource_limit(RLIMIT_MEMLOCK); }

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int first_usable_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) {
      return cpu;
    }
  }
  return 0;
}

bool KernelPorts::may_give_of(const config::PortRange& range) const {
  // Step over the reserved ranges, from the lowest port on.
  std::uint32_t port = std::max(range.first, given.first);
  const std::uint32_t last = std::min(range.last, given.last);
  const auto holds_it = [&](const config::PortRange& each) {
    return each.first <= port && port <= each.last;
  };
  while (port <= last) {
    const auto reserve = std::find_if(reserved.begin(), reserved.end(), holds_it);
    if (reserve == reserved.end()) {
      return true;
    }
    port = reserve->last + 1u;
  }
  return false;
}

KernelPorts kernel_ports(const Sysfs& proc) {
  KernelPorts ports;
  if (const auto given = parse_ports(proc.read("sys/net/ipv4/ip_local_port_range").value_or(""))) {
    ports.given = *given;
  }
  const std::string reserved = proc.read("sys/net/ipv4/ip_local_reserved_ports").value_or("");
  for (std::string_view rest = reserved; !rest.empty();) {
    if (const auto range = parse_ports(config::take_until(rest, ','))) {
      ports.reserved.push_back(*range);
    }
  }
  return ports;
}

}  // namespace tfabric::host
