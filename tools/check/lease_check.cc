#include "tools/check/lease_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include "host/process_lock.h"
#include "transport/tcp/rails/rail_lease.h"
#include "transport/tcp/rails/rail_share.h"

namespace tfabric::check {

std::optional<pid_t> holder_of(const Host& host, const config::LockFolder& configured,
                               const config::Rail& rail) {
  if (!configured.text().empty()) {
    return host::ProcessLock::holder(host.root + configured.text(), tcp::lease_name(rail));
  }
  for (const char* folder : host::kLockFolders) {
    if (const auto holder = host::ProcessLock::holder(host.root + folder, tcp::lease_name(rail))) {
      return holder;
    }
  }
  return std::nullopt;
}

namespace {

void check_folder(const Host& host, const std::string& folder, Findings& findings) {
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

// Known if this process has been started as a rank is.
void check_share(const config::Config& config, Findings& findings) {
  if (const auto share = tcp::share_of(config.tcp, config.launcher); !share) {
    findings.error(Id::rails_too_few, "configuration", share.error().message,
                   "as the message says: fewer processes, or a rail for each");
  }
}

void check_leases(const Host& host, const config::Config& config, Findings& findings) {
  check_share(config, findings);
  check_folder(host, config.lock_folder.text(), findings);
  for (const config::Rail& rail : config.tcp.rails) {
    if (!tcp::is_exclusive(rail)) {
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

}  // namespace tfabric::check
