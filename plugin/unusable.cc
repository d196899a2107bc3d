#include "plugin/unusable.h"

#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <optional>

#include "host/lock_folder.h"
#include "host/process_lock.h"
#include "plugin/adapter.h"

namespace tfabric::plugin {
namespace {

// All processes that a launcher starts on a host are in its session, whatever wrappers are between them.
std::string lock_name(const config::Launcher& launcher) {
  const std::string job = launcher.job.empty() ? fmt::format("session {}", getsid(0)) : launcher.job;
  return fmt::format("told {} {:016x}", getuid(), std::hash<std::string>{}(job));
}

}  // namespace

bool is_first_of_job(const config::LockFolder& wanted, const config::Launcher& launcher) {
  struct Kept {
    std::mutex mutex;
    std::optional<host::ProcessLock> lock;  // guarded by mutex
  };
  // Never destroyed: the lock is held to the end of the process.
  static auto* kept = new Kept;
  const std::lock_guard guard(kept->mutex);
  const Result<host::LockFolder> folder = host::lock_folder(wanted.text());
  if (folder) {
    if (Result<host::ProcessLock::Taken> taken = host::ProcessLock::take(folder->path, lock_name(launcher));
        taken) {
      if (taken->lock) {
        kept->lock.emplace(std::move(*taken->lock));
      }
      return taken->holder == getpid();
    }
  }
  return launcher.local_rank.value_or(0) == 0;
}

std::string what_follows(const config::Environment& environment) {
  const auto net = environment.find("NCCL_NET");
  if (net == environment.end() || !config::nccl_insists(net->second)) {
    return ", NCCL will use its own network";
  }
  return fmt::format(
      ", and NCCL_NET={} names no other network, so communicators fail (ncclInvalidUsage); without "
      "NCCL_NET, NCCL would use its own",
      net->second);
}

UnusableDevice::UnusableDevice(const std::string& reason)
    : message_("tfabric is required, and not usable here: " + reason) {
  properties_.name = kUnusableName;
}

Result<std::unique_ptr<transport::Listener>> UnusableDevice::listen(
    std::span<std::byte, transport::kHandleBytes> /*handle*/, const transport::ListenOptions& /*options*/) {
  return Error{Errc::unusable, message_};
}

Result<std::unique_ptr<transport::SendComm>> UnusableDevice::connect(
    std::span<std::byte, transport::kHandleBytes> /*handle*/, const transport::ConnectOptions& /*options*/) {
  return Error{Errc::unusable, message_};
}

}  // namespace tfabric::plugin
