#include "transport/tcp/rails/rail_lease.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "host/process_lock.h"

namespace tfabric::tcp {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(50);

// All leases of the process.
class Leases {
 public:
  // Who has it: this process, from now on or already, or another; 0: one that cannot be seen.
  Result<pid_t> take(const std::string& folder, const std::string& name) {
    const std::lock_guard guard(mutex_);
    Result<host::ProcessLock::Taken> taken = host::ProcessLock::take(folder, name);
    if (!taken) {
      return taken.error();
    }
    if (taken->lock) {
      locks_.push_back(std::move(*taken->lock));
    }
    return taken->holder;
  }

 private:
  std::mutex mutex_;
  std::vector<host::ProcessLock> locks_;  // guarded by mutex_
};

// Never destroyed, as the transport may not be.
Leases& leases() {
  static auto* instance = new Leases;
  return *instance;
}

std::string describe(const config::Rail& rail) { return fmt::format("rail {} ({})", rail.name, rail.device); }

// Takes all of the share; waits for those that others have.
Result<std::vector<std::size_t>> take_all(const std::vector<config::Rail>& rails, const RailShare& share,
                                          const std::string& folder, Duration wait) {
  const Instant until = monotonic_now() + wait;
  for (const std::size_t number : share.rails) {
    for (;;) {
      Result<pid_t> holder = leases().take(folder, lease_name(rails[number]));
      if (!holder) {
        return holder.error();
      }
      if (*holder == getpid()) {
        break;
      }
      if (monotonic_now() > until) {
        return Error{
            Errc::unusable,
            fmt::format(
                "{} is this process's ({}), but {} has it: end that process, or name a rail that is free",
                describe(rails[number]), share.why, host::describe_process(*holder))};
      }
      std::this_thread::sleep_for(kLookAgain);
    }
  }
  return share.rails;
}

// Takes the first that are free. What this process has already is among them.
Result<std::vector<std::size_t>> take_any(const std::vector<config::Rail>& rails, const RailShare& share,
                                          const std::string& folder) {
  std::vector<std::size_t> mine;
  std::string holders;
  for (const std::size_t number : share.rails) {
    if (mine.size() == share.any) {
      break;
    }
    Result<pid_t> holder = leases().take(folder, lease_name(rails[number]));
    if (!holder) {
      return holder.error();
    }
    if (*holder == getpid()) {
      mine.push_back(number);
    } else {
      holders += fmt::format("{}{} by {}", holders.empty() ? "" : ", ", describe(rails[number]),
                             host::describe_process(*holder));
    }
  }
  if (mine.size() < share.any) {
    return Error{
        Errc::unusable,
        fmt::format(
            "{} of the {} rail(s) that a process needs ({}) are free; used are: {}. End what has them, "
            "run fewer processes on this host, or add rails",
            mine.size(), share.any, share.why, holders.empty() ? "none" : holders)};
  }
  return mine;
}

}  // namespace

std::string lease_name(const config::Rail& rail) {
  switch (rail.kind) {
    case config::RailKind::pci:
      return "pci " + rail.device;
    case config::RailKind::af_packet:
    case config::RailKind::af_xdp:
    case config::RailKind::tap: {
      // Interfaces of one name are others in each network namespace.
      struct stat status {};
      const bool known = stat("/proc/self/ns/net", &status) == 0;
      const std::string name = fmt::format("interface {} {}", rail.device, known ? status.st_ino : 0);
      return rail.queues.whole()
                 ? name
                 : fmt::format("{} queues {}-{}", name, rail.queues.first, rail.queues.end() - 1);
    }
    case config::RailKind::memif:
      // Both ends of a wire may be here.
      return fmt::format("memif {} {}", rail.role == config::MemifRole::server ? "server" : "client",
                         rail.device);
    case config::RailKind::virtio_user:
      return "virtio_user " + rail.device;
    case config::RailKind::vhost:
      return "vhost " + rail.device;
  }
  return rail.device;
}

Result<std::vector<std::size_t>> lease_rails(const std::vector<config::Rail>& rails, const RailShare& share,
                                             const config::LockFolder& folder, Duration wait) {
  if (share.rails.empty()) {
    return share.rails;
  }
  Result<std::string> place = host::lock_folder(folder.text());
  if (!place) {
    return Error{Errc::unusable, place.error().message};
  }
  return share.any > 0 ? take_any(rails, share, *place) : take_all(rails, share, *place, wait);
}

}  // namespace tfabric::tcp
