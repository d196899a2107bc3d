// What the checks of transports read of a host. Tests make hosts that are broken in the way they want.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/config.h"
#include "host/interfaces.h"
#include "host/sysfs.h"

namespace tfabric::diagnosis {

// Paths are absolute and those that the host itself uses: the root is put before them when a file is opened.
struct Host {
  std::string root;                 // before /sys, /proc and all others; empty: this host
  std::uint64_t memlock_bytes = 0;  // RLIMIT_MEMLOCK; the largest number: unlimited
  int usable_cpus = 1;
  config::Environment environment;  // all variables
  std::vector<host::Interface> interfaces;
  std::vector<host::LocalAddress> addresses;
  // As access(2).
  std::function<bool(const std::string& path, int mode)> access;

  [[nodiscard]] host::Sysfs sysfs() const { return host::Sysfs(root + "/sys"); }
  [[nodiscard]] host::Sysfs proc() const { return host::Sysfs(root + "/proc"); }
  [[nodiscard]] bool exists(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> lines(const std::string& path) const;  // none if it cannot be read
  // Returns true if the process has the capability, numbered as in <linux/capability.h>.
  [[nodiscard]] bool has_capability(int capability) const;
  // Returns true if the process may lock this much memory.
  [[nodiscard]] bool may_lock(std::uint64_t bytes) const;
  [[nodiscard]] int user() const;                  // the effective user's number; -1: unknown
  [[nodiscard]] int user_of(pid_t process) const;  // the same of another process
};

// How the limit of locked memory is raised: the fix of findings for which may_lock() is false.
inline constexpr const char* kMemlockFix =
    "shell: ulimit -l unlimited (allowed by `* - memlock unlimited` in /etc/security/limits.conf); systemd: "
    "LimitMEMLOCK=infinity; docker: --ulimit memlock=-1:-1; Kubernetes has no field for it: "
    "LimitMEMLOCK=infinity in the unit of containerd, or the capability IPC_LOCK for the pod";

[[nodiscard]] Host this_host();

}  // namespace tfabric::diagnosis
