#include "tools/check/hugetlbfs_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <sstream>
#include <string>

namespace tfabric::check {

void check_hugetlbfs(const Host& host, Findings& findings) {
  bool mounted = false;
  for (const std::string& line : host.lines("/proc/mounts")) {
    std::string device, folder, type;
    std::istringstream(line) >> device >> folder >> type;
    if (type != "hugetlbfs") {
      continue;
    }
    mounted = true;
    if (!host.access(folder, R_OK | X_OK)) {
      findings.error(
          Id::hugetlbfs_denied, "memory",
          fmt::format("this user (uid {}) may not read the hugetlbfs at {}, and DPDK looks into it",
                      host.user(), folder),
          fmt::format("as root: chmod a+rx {}", folder));
    }
  }
  if (!mounted) {
    findings.note(Id::hugetlbfs_not_mounted, "memory",
                  "no hugetlbfs is mounted; tfabric does without, other programs may not");
  }
}

}  // namespace tfabric::check
