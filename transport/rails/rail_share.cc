#include "transport/rails/rail_share.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/log.h"
#include "host/lock_folder.h"
#include "host/namespace_lock.h"
#include "host/process_lock.h"
#include "transport/rails/rail_kinds.h"

namespace tfabric::rails {
namespace {

using Rule = config::RailsPerProcess::Rule;

std::string describe(const config::Launcher& launcher) {
  if (!launcher.local_rank) {
    return "no launcher tells the local rank";
  }
  return fmt::format("local rank {}{} ({})", *launcher.local_rank,
                     launcher.local_size ? fmt::format(" of {}", *launcher.local_size) : "",
                     launcher.variable);
}

std::vector<std::size_t> exclusive_rails(const std::vector<config::Rail>& rails) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < rails.size(); ++i) {
    if (is_exclusive(rails[i])) {
      numbers.push_back(i);
    }
  }
  return numbers;
}

struct Range {
  std::size_t first = 0, end = 0;
};

// The process's range among `count` rails, which are enough.
Range range_of(std::size_t count, const config::RailsPerProcess& wanted, const config::Launcher& launcher) {
  const std::size_t rank = *launcher.local_rank;
  if (wanted.rule == Rule::count) {
    return {.first = rank * wanted.count, .end = (rank + 1) * wanted.count};
  }
  if (!launcher.local_size) {
    return {.first = rank, .end = rank + 1};
  }
  const std::size_t ranks = *launcher.local_size;
  return {.first = rank * count / ranks, .end = (rank + 1) * count / ranks};
}

// Returns true if there are rails for all processes of the host, as far as their number is known.
bool enough(std::size_t count, const config::RailsPerProcess& wanted, const config::Launcher& launcher) {
  const std::size_t each = wanted.rule == Rule::count ? wanted.count : 1;
  const std::size_t ranks = launcher.local_size.value_or(*launcher.local_rank + 1);
  return ranks * each <= count;
}

Error too_few(std::size_t count, const config::RailsPerProcess& wanted, const config::Launcher& launcher) {
  const std::string each = wanted.rule == Rule::count ? fmt::format("{} rail(s)", wanted.count) : "one rail";
  return {
      Errc::unusable,
      fmt::format(
          "{} of tcp.rails can be used by one process each, and every process needs {} ({}): run at most {} "
          "processes on this host, add rails, lower tcp.rails_per_process, or, where each process has rails "
          "of its own in TFABRIC_TCP_RAILS, set TFABRIC_TCP_RAILS_PER_PROCESS=all",
          count, each, describe(launcher), wanted.rule == Rule::count ? count / wanted.count : count)};
}

}  // namespace

bool is_exclusive(const config::Rail& rail) {
  return !config::is_automatic_memif(rail) && !config::is_kernel_stack(rail);
}

Result<RailShare> share_of(const config::Tcp& config, const config::Launcher& launcher) {
  const std::vector<std::size_t> all = exclusive_rails(config.rails);
  const config::RailsPerProcess& wanted = config.rails_per_process;
  RailShare share{.why = describe(launcher)};
  if (all.empty()) {
    return share;
  }
  const bool own_list = config.rails_from_environment && !launcher.local_rank;
  if (wanted.rule == Rule::all || (wanted.rule == Rule::automatic && own_list)) {
    share.rails = all;
    share.why =
        own_list ? "TFABRIC_TCP_RAILS names them for this process" : "tcp.rails_per_process is \"all\"";
    return share;
  }
  if (!launcher.local_rank) {
    share.rails = all;
    share.any = wanted.rule == Rule::count ? wanted.count : 1;
    return share;
  }
  if (!enough(all.size(), wanted, launcher)) {
    if (all.size() < config.rails.size()) {
      return share;  // the rails that are not exclusive serve
    }
    return too_few(all.size(), wanted, launcher);
  }
  const Range own = range_of(all.size(), wanted, launcher);
  share.rails.assign(all.begin() + static_cast<std::ptrdiff_t>(own.first),
                     all.begin() + static_cast<std::ptrdiff_t>(own.end));
  return share;
}

config::Tcp largest_share(const config::Config& config) {
  const auto& rails = config.tcp.rails;
  Result<RailShare> share = share_of(config.tcp, config.launcher);
  if (!share) {
    return config.tcp;
  }
  std::vector<std::size_t>& own = share->rails;
  if (share->any > 0 && share->any < own.size()) {
    std::stable_sort(own.begin(), own.end(), [&](std::size_t a, std::size_t b) {
      return effective_mtu(rails[a]) > effective_mtu(rails[b]);
    });
    own.resize(share->any);
  }
  config::Tcp process = config.tcp;
  process.rails.clear();
  for (std::size_t i = 0; i < rails.size(); ++i) {
    if (!is_exclusive(rails[i]) || std::find(own.begin(), own.end(), i) != own.end()) {
      process.rails.push_back(rails[i]);
    }
  }
  return process;
}

namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(50);

struct Holder {
  bool self = false;  // this process, which may have had the lease before
  std::string text;   // another one, for messages
};

// The leases of this process.
class Leases {
 public:
  Result<Holder> take(const std::string& folder, const config::Rail& rail) {
    const std::lock_guard guard(mutex_);
    const std::string name = lease_name(rail);
    Result<host::ProcessLock::Taken> taken = host::ProcessLock::take(folder, name);
    if (!taken) {
      return taken.error();
    }
    if (!taken->lock) {
      return Holder{.self = taken->holder == getpid(), .text = host::describe_process(taken->holder)};
    }
    if (traits_of(rail.kind).in_network_namespace) {
      if (const auto other = take_in_namespace(name)) {
        return Holder{.self = false, .text = *other};  // and the lock in the folder is given back
      }
    }
    locks_.push_back(std::move(*taken->lock));
    return Holder{.self = true, .text = {}};
  }

 private:
  // Returns the process that has the rail, whose locks lie in another folder. Where the name is a stranger's,
  // or there are no such sockets, the lock in the folder decides.
  std::optional<std::string> take_in_namespace(const std::string& name) {
    const auto known = owners_.find(name);
    const bool asked = known != owners_.end() && host::is_trusted(known->second);  // a stranger may have gone
    auto taken = host::NamespaceLock::take(name, asked ? &known->second : nullptr);
    if (!taken) {
      return std::nullopt;
    }
    if (taken->lock) {
      names_.push_back(std::move(*taken->lock));
      return std::nullopt;
    }
    if (taken->owner.process == getpid()) {
      return std::nullopt;  // it has been in another folder before
    }
    const bool first = known == owners_.end();
    owners_[name] = taken->owner;
    if (host::is_trusted(taken->owner)) {
      return host::describe(taken->owner);
    }
    if (first) {
      TF_WARN(
          "NET/tfabric: {} has taken the name of the lease of {} in this network namespace, and is neither "
          "root's nor this user's: it is ignored. End it",
          host::describe(taken->owner), name);
    }
    return std::nullopt;
  }

  std::mutex mutex_;
  // Guarded by mutex_, all of them.
  std::vector<host::ProcessLock> locks_;
  std::vector<host::NamespaceLock> names_;
  std::map<std::string, host::LockOwner> owners_;  // who had a name when it was asked for last
};

// Never destroyed, as the transport may not be.
Leases& leases() {
  static auto* instance = new Leases;
  return *instance;
}

std::string name_and_device(const config::Rail& rail) {
  return fmt::format("rail {} ({})", rail.name, rail.device);
}

// Takes all rails of the share, and waits for those that other processes have.
Result<std::vector<std::size_t>> take_all(const std::vector<config::Rail>& rails, const RailShare& share,
                                          const std::string& folder, Duration wait) {
  const Instant until = monotonic_now() + wait;
  for (const std::size_t number : share.rails) {
    for (;;) {
      Result<Holder> holder = leases().take(folder, rails[number]);
      if (!holder) {
        return holder.error();
      }
      if (holder->self) {
        break;
      }
      if (monotonic_now() > until) {
        return Error{
            Errc::unusable,
            fmt::format(
                "{} is this process's ({}), but {} has it: end that process, or name a rail that is free",
                name_and_device(rails[number]), share.why, holder->text)};
      }
      std::this_thread::sleep_for(kLookAgain);
    }
  }
  return share.rails;
}

// Takes the first that are free, among them those that this process has already.
Result<std::vector<std::size_t>> take_any(const std::vector<config::Rail>& rails, const RailShare& share,
                                          const std::string& folder) {
  std::vector<std::size_t> mine;
  std::string holders;
  for (const std::size_t number : share.rails) {
    if (mine.size() == share.any) {
      break;
    }
    Result<Holder> holder = leases().take(folder, rails[number]);
    if (!holder) {
      return holder.error();
    }
    if (holder->self) {
      mine.push_back(number);
    } else {
      holders += fmt::format("{}{} by {}", holders.empty() ? "" : ", ", name_and_device(rails[number]),
                             holder->text);
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

std::string lease_name(const config::Rail& rail) { return traits_of(rail.kind).lease_name(rail); }

Result<std::vector<std::size_t>> lease_rails(const std::vector<config::Rail>& rails, const RailShare& share,
                                             const config::LockFolder& folder, Duration wait) {
  if (share.rails.empty()) {
    return share.rails;
  }
  const Result<host::LockFolder> place = host::lock_folder(folder.text());
  if (!place) {
    return Error{Errc::unusable, place.error().message};
  }
  for (const std::string& foreign : place->passed_over) {
    TF_INFO("NET/tfabric: the locks of the rails are in {}, because {}", place->path, foreign);
  }
  return share.any > 0 ? take_any(rails, share, place->path) : take_all(rails, share, place->path, wait);
}

}  // namespace tfabric::rails
