#include "tools/setup/mount_step.h"

#include <sstream>

namespace tfabric::setup {
namespace {

const std::string kPlace = "/dev/hugepages";

// proc(5): "device, place, type, options, two numbers". `place` empty: any.
bool has_mount(const Host& host, const std::string& place) {
  std::istringstream lines(host.read("/proc/mounts").value_or(""));
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string device, where, type;
    words >> device >> where >> type;
    if (type == "hugetlbfs" && (place.empty() || where == place)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string MountStep::describe() const { return "mount hugetlbfs at " + kPlace; }

bool MountStep::done(const Host& host) const { return has_mount(host, ""); }

Result<Json> MountStep::state_before(Host& host) const {
  return Json{{"mounted", has_mount(host, kPlace)}, {"folder", host.exists(kPlace)}};
}

Status MountStep::apply(Host& host, const Json& /*before*/) const {
  if (Status status = host.make_folder(kPlace); !status) {
    return status;
  }
  return run_or_fail(host, {"mount", "-t", "hugetlbfs", "hugetlbfs", kPlace});
}

Status MountStep::undo(Host& host, const Json& before) const {
  if (!flag_of(before, "mounted") && has_mount(host, kPlace)) {
    if (Status status = run_or_fail(host, {"umount", kPlace}); !status) {
      return status;
    }
  }
  return flag_of(before, "folder") ? Status() : host.remove(kPlace);
}

}  // namespace tfabric::setup
