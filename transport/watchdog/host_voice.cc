#include "transport/watchdog/host_voice.h"

#include <unistd.h>

#include <utility>

#include "host/lock_folder.h"
#include "transport/this_rank.h"

namespace tfabric::watchdog {
HostVoice::HostVoice(const config::Config& config)
    : folder_(config.lock_folder.text()), name_(transport::job_lock_name("waits", config.launcher)) {}

bool HostVoice::take() {
  const std::lock_guard guard(mutex_);
  if (lock_) {
    return true;
  }
  const Result<host::LockFolder> folder = host::lock_folder(folder_);
  if (!folder) {
    return true;
  }
  Result<host::ProcessLock::Taken> taken = host::ProcessLock::take(folder->path, name_);
  if (!taken) {
    return true;
  }
  if (taken->lock) {
    lock_.emplace(std::move(*taken->lock));
  }
  return lock_.has_value() || taken->holder == getpid();
}

void HostVoice::release() {
  const std::lock_guard guard(mutex_);
  lock_.reset();
}

}  // namespace tfabric::watchdog
