// The host as `tfabric check` sees it. Tests make one that is broken in the way they want.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "host/interfaces.h"
#include "host/sysfs.h"

namespace tfabric::check {

// Paths are absolute, and those of the host: the root goes before them where they are opened.
struct Host {
  std::string root;  // before /sys, /proc and all others; empty: this host
  config::Environment environment;
  std::map<std::string, std::string> environment_files;  // the variables that a file of NCCL's has set
  std::vector<std::string> config_files;
  std::uint64_t memlock_bytes = 0;  // RLIMIT_MEMLOCK; the largest number: unlimited
  int usable_cpus = 1;
  std::vector<host::Interface> interfaces;
  std::vector<host::LocalAddress> addresses;
  std::string plugin_folder;  // where this installation's library is
  // As access(2); the path is the host's.
  std::function<bool(const std::string& path, int mode)> access;
  // What a plugin calls itself that is loaded as NCCL does.
  std::function<Result<std::string>(const std::string& library)> plugin_name;

  [[nodiscard]] host::Sysfs sysfs() const { return host::Sysfs(root + "/sys"); }
  [[nodiscard]] host::Sysfs proc() const { return host::Sysfs(root + "/proc"); }
  [[nodiscard]] bool exists(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> lines(const std::string& path) const;  // none if it cannot be read
  [[nodiscard]] std::string variable(const std::string& name) const;            // empty: it is not set
  // How people find a variable: "environment NCCL_NET", or with the file of NCCL's that has it.
  [[nodiscard]] std::string origin_of(const std::string& name) const;
  // The process has it; `capability` as <linux/capability.h> numbers them.
  [[nodiscard]] bool has_capability(int capability) const;
  [[nodiscard]] int user() const;  // effective; -1: unknown
};

[[nodiscard]] Host this_host();

// NCCL sets variables by files, those that are not set: NCCL_CONF_FILE's or the user's .nccl.conf, then
// /etc/nccl.conf.
void read_nccl_files(Host& host);

}  // namespace tfabric::check
