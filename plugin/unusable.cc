#include "plugin/unusable.h"

#include <fmt/format.h>
#include <unistd.h>

#include <mutex>
#include <optional>

#include "host/lock_folder.h"
#include "host/process_lock.h"
#include "plugin/adapter.h"
#include "transport/this_rank.h"

namespace tfabric::plugin {

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
    if (Result<host::ProcessLock::Taken> taken =
            host::ProcessLock::take(folder->path, transport::job_lock_name("told", launcher));
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
