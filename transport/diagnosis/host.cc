#include "transport/diagnosis/host.h"

#include <linux/capability.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "config/value.h"
#include "host/limits.h"

namespace tfabric::diagnosis {
namespace {

// Returns the rest of the line of /proc/PROCESS/status that begins with `field`.
std::string status_field(const Host& host, const std::string& process, std::string_view field) {
  for (const std::string& line : host.lines("/proc/" + process + "/status")) {
    if (line.starts_with(field)) {
      return config::trimmed(std::string_view(line).substr(field.size()));
    }
  }
  return {};
}

// The line has the real, the effective and two more user numbers (proc(5)).
int effective_user(const Host& host, const std::string& process) {
  int real = -1, effective = -1;
  std::istringstream(status_field(host, process, "Uid:")) >> real >> effective;
  return effective;
}

}  // namespace

bool Host::exists(const std::string& path) const {
  // What cannot be looked at, such as a loop of symbolic links, is there.
  std::error_code fault;
  return std::filesystem::exists(root + path, fault) || fault;
}

std::vector<std::string> Host::lines(const std::string& path) const {
  std::vector<std::string> lines;
  std::ifstream file(root + path);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

bool Host::has_capability(int capability) const {
  std::uint64_t bits = 0;
  std::istringstream(status_field(*this, "self", "CapEff:")) >> std::hex >> bits;
  return (bits >> capability & 1) != 0;
}

bool Host::may_lock(std::uint64_t bytes) const {
  return memlock_bytes >= bytes || has_capability(CAP_IPC_LOCK);
}

int Host::user() const { return effective_user(*this, "self"); }

int Host::user_of(pid_t process) const { return effective_user(*this, std::to_string(process)); }

Host this_host() {
  Host host;
  host.memlock_bytes = host::memlock_limit();
  host.usable_cpus = host::usable_cpus();
  host.environment = config::whole_environment();
  host.interfaces = host::interfaces();
  host.addresses = host::local_addresses();
  host.access = [](const std::string& path, int mode) { return ::access(path.c_str(), mode) == 0; };
  return host;
}

}  // namespace tfabric::diagnosis
