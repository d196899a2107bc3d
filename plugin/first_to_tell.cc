#include "plugin/first_to_tell.h"

#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <optional>

#include "host/process_lock.h"

namespace tfabric::plugin {
namespace {

// Processes that a launcher has started on a host, by whatever wrappers, are of its session.
std::string name_of(const config::Launcher& launcher) {
  const std::string job = launcher.job.empty() ? fmt::format("session {}", getsid(0)) : launcher.job;
  return fmt::format("told {} {:016x}", getuid(), std::hash<std::string>{}(job));
}

}  // namespace

bool is_first_to_tell(const config::LockFolder& wanted, const config::Launcher& launcher) {
  struct Kept {
    std::mutex mutex;
    std::optional<host::ProcessLock> lock;  // guarded by mutex
  };
  static auto* kept = new Kept;
  const std::lock_guard guard(kept->mutex);
  const Result<std::string> folder = host::lock_folder(wanted.text());
  if (folder) {
    if (Result<host::ProcessLock::Taken> taken = host::ProcessLock::take(*folder, name_of(launcher)); taken) {
      if (taken->lock) {
        kept->lock.emplace(std::move(*taken->lock));
      }
      return taken->holder == getpid();
    }
  }
  return launcher.local_rank.value_or(0) == 0;
}

}  // namespace tfabric::plugin
