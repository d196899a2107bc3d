#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "host/lock_folder.h"
#include "host/namespace_lock.h"
#include "host/process_lock.h"
#include "transport/rails/diagnosis/examine.h"
#include "transport/rails/rail_kinds.h"
#include "transport/rails/rail_share.h"

namespace tfabric::rails {
namespace {

using diagnosis::Id;

// The share is known only if this process was started as a rank is, with the launcher's variables.
void check_share(const Result<RailShare>& share, Findings& findings) {
  if (!share) {
    findings.error(Id::rails_too_few, "configuration", share.error().message,
                   "as the message says: fewer processes, or a rail for each");
  }
}

struct Taken {
  std::size_t rail = 0;  // its number
  pid_t holder = 0;
};

std::vector<Taken> taken_rails(const diagnosis::Host& host, const config::Config& config) {
  std::vector<Taken> taken;
  for (std::size_t i = 0; i < config.tcp.rails.size(); ++i) {
    const config::Rail& rail = config.tcp.rails[i];
    if (const auto holder = is_exclusive(rail) ? holder_of(host, config.lock_folder, rail) : std::nullopt) {
      taken.push_back({i, *holder});
    }
  }
  return taken;
}

// Returns true if a process with this share cannot use tfabric while another process has the rail.
bool needs(const RailShare& share, std::size_t rail, std::size_t taken) {
  if (share.any > 0) {
    return share.rails.size() < share.any + taken;
  }
  return std::find(share.rails.begin(), share.rails.end(), rail) != share.rails.end();
}

std::string name_of_user(int user) {
  constexpr std::size_t kMost = 16384;
  std::vector<char> space(kMost);
  passwd entry{};
  passwd* found = nullptr;
  const bool known = getpwuid_r(static_cast<uid_t>(user), &entry, space.data(), space.size(), &found) == 0 &&
                     found != nullptr;
  return known ? fmt::format("{} (uid {})", found->pw_name, user) : fmt::format("the user with uid {}", user);
}

// The command that ends the process is for its own user: to others it is a stranger's job.
std::string lease_fix(const diagnosis::Host& host, pid_t holder) {
  const int user = holder > 0 ? host.user_of(holder) : -1;
  if (user < 0) {
    return "wait for its job; `ps` outside of this container shows whose it is";
  }
  if (user != host.user()) {
    return fmt::format("wait for its job, or ask {}, whose process it is, to end it", name_of_user(user));
  }
  return fmt::format(
      "wait for its job; the process is this user's own, {}, and if its job is not needed: "
      "`kill {}`",
      name_of_user(user), holder);
}

uid_t user_of(const diagnosis::Host& host) {
  return host.user() < 0 ? geteuid() : static_cast<uid_t>(host.user());
}

// Returns the folders that are used if none is configured, below the host's root.
std::vector<host::LockFolderChoice> choices_of(const diagnosis::Host& host) {
  std::vector<host::LockFolderChoice> choices = host::lock_folder_choices(user_of(host));
  for (host::LockFolderChoice& choice : choices) {
    choice.path = host.root + choice.path;
  }
  return choices;
}

void check_automatic_folders(const diagnosis::Host& host, Findings& findings) {
  std::vector<std::string> foreign;
  bool possible = false;
  for (const host::LockFolderChoice& choice : choices_of(host)) {
    if (std::string why = host::foreign_lock_folder(choice); !why.empty()) {
      foreign.push_back(std::move(why));
    } else {
      possible = possible || choice.owner == user_of(host);
    }
  }
  if (!foreign.empty()) {
    findings.add(possible ? diagnosis::Severity::note : diagnosis::Severity::error, Id::lock_folder_denied,
                 "configuration",
                 fmt::format("not used for the locks of rails: {}", fmt::join(foreign, "; ")),
                 "remove what is not yours there, or set `lock_folder` to a folder of yours");
  }
}

void check_lock_folder(const diagnosis::Host& host, const std::string& folder, Findings& findings) {
  const std::string parent = folder.substr(0, folder.rfind('/')) + "/";
  if (host.access(host.exists(folder) ? folder : parent, W_OK | X_OK)) {
    return;
  }
  const std::string owner = host::describe_owner(host.root + folder);
  findings.error(Id::lock_folder_denied, "configuration",
                 fmt::format("lock_folder is {}, which this user (uid {}) cannot {}", folder, user_of(host),
                             owner.empty() ? "create" : fmt::format("write: it is {}", owner)),
                 fmt::format("{} {} {}, or set it to \"auto\"",
                             owner.empty() ? "install -d -m 700 -o" : "chown", user_of(host), folder));
}

}  // namespace

std::optional<pid_t> holder_of(const diagnosis::Host& host, const config::LockFolder& folder,
                               const config::Rail& rail) {
  std::vector<std::string> folders{host.root + folder.text()};
  if (folder.text().empty()) {
    folders.clear();
    for (const host::LockFolderChoice& each : choices_of(host)) {
      folders.push_back(each.path);
    }
  }
  for (const std::string& each : folders) {
    if (const auto holder = host::ProcessLock::holder(each, lease_name(rail))) {
      return holder;
    }
  }
  // A process whose folder is not visible from here.
  const auto owner =
      traits_of(rail.kind).in_network_namespace ? host::NamespaceLock::owner(lease_name(rail)) : std::nullopt;
  return owner && host::is_trusted(*owner) ? std::optional(owner->process) : std::nullopt;
}

std::optional<std::string> why_rails_are_taken(const config::Config& config, const diagnosis::Host& host) {
  const Result<RailShare> share = share_of(config.tcp, config.launcher);
  const std::vector<Taken> taken = taken_rails(host, config);
  for (const Taken& each : taken) {
    const config::Rail& rail = config.tcp.rails[each.rail];
    if (share && needs(*share, each.rail, taken.size())) {
      return fmt::format("rail {}: {} has {}: {}", rail.name, host::describe_process(each.holder),
                         rail.device, lease_fix(host, each.holder));
    }
  }
  return std::nullopt;
}

void check_leases(const diagnosis::Host& host, const config::Config& config, Findings& findings) {
  const Result<RailShare> share = share_of(config.tcp, config.launcher);
  check_share(share, findings);
  if (config.lock_folder.text().empty()) {
    check_automatic_folders(host, findings);
  } else {
    check_lock_folder(host, config.lock_folder.text(), findings);
  }
  const std::vector<Taken> taken = taken_rails(host, config);
  for (const Taken& each : taken) {
    const config::Rail& rail = config.tcp.rails[each.rail];
    const bool needed = share && needs(*share, each.rail, taken.size());
    findings.add(needed ? diagnosis::Severity::error : diagnosis::Severity::warning, Id::rail_leased,
                 "rail " + rail.name,
                 fmt::format("{} has {}: a job that is started now cannot use it",
                             host::describe_process(each.holder), rail.device),
                 lease_fix(host, each.holder));
  }
}

}  // namespace tfabric::rails
