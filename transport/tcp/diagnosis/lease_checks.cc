#include <fmt/format.h>
#include <unistd.h>

#include "host/process_lock.h"
#include "transport/tcp/diagnosis/examine.h"
#include "transport/tcp/rails/rail_share.h"

namespace tfabric::tcp {
namespace {

using diagnosis::Id;

// The share is known only if this process was started as a rank is, with the launcher's variables.
void check_share(const config::Config& config, Findings& findings) {
  if (const auto share = share_of(config.tcp, config.launcher); !share) {
    findings.error(Id::rails_too_few, "configuration", share.error().message,
                   "as the message says: fewer processes, or a rail for each");
  }
}

void check_lock_folder(const diagnosis::Host& host, const std::string& folder, Findings& findings) {
  const std::string parent = folder.substr(0, folder.rfind('/')) + "/";
  if (folder.empty() || host.access(host.exists(folder) ? folder : parent, W_OK | X_OK)) {
    return;
  }
  findings.error(Id::lock_folder_denied, "configuration",
                 fmt::format("lock_folder is {}, which this user cannot write", folder),
                 fmt::format("{} {}, or set it to \"auto\"",
                             host.exists(folder) ? "chmod 1777" : "mkdir -p -m 1777", folder));
}

}  // namespace

std::optional<pid_t> holder_of(const diagnosis::Host& host, const config::LockFolder& folder,
                               const config::Rail& rail) {
  if (!folder.text().empty()) {
    return host::ProcessLock::holder(host.root + folder.text(), lease_name(rail));
  }
  for (const char* each : host::kLockFolders) {
    if (const auto holder = host::ProcessLock::holder(host.root + each, lease_name(rail))) {
      return holder;
    }
  }
  return std::nullopt;
}

void check_leases(const diagnosis::Host& host, const config::Config& config, Findings& findings) {
  check_share(config, findings);
  check_lock_folder(host, config.lock_folder.text(), findings);
  for (const config::Rail& rail : config.tcp.rails) {
    if (!is_exclusive(rail)) {
      continue;
    }
    if (const auto holder = holder_of(host, config.lock_folder, rail); holder) {
      findings.warning(
          Id::rail_leased, "rail " + rail.name,
          fmt::format("{} has {}: a job that is started now cannot use it", host::describe_process(*holder),
                      rail.device),
          *holder > 0 ? fmt::format("wait for it, or `kill {}`", *holder) : "wait for its job, or end that");
    }
  }
}

}  // namespace tfabric::tcp
