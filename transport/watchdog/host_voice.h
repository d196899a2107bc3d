// Which of a job's processes on this host warns of a wait: their waits mostly have one cause, and a host may
// have 16 of them. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "config/config.h"
#include "host/process_lock.h"

namespace tfabric::watchdog {

class HostVoice {
 public:
  explicit HostVoice(const config::Config& config);

  // Returns true if no other process of the job on this host warns now, or that cannot be known; no other one
  // may then until release().
  [[nodiscard]] bool take();
  void release();

 private:
  const std::string folder_, name_;
  std::mutex mutex_;
  std::optional<host::ProcessLock> lock_;  // guarded by mutex_
};

}  // namespace tfabric::watchdog
