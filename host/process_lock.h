// Locks by which the processes of a host assign resources to each other. A lock ends with its process,
// however the process ends and even if it leaves children.
//
// These are POSIX record locks of fcntl(), which belong to the process: a lock of flock() would live on in a
// child that a data loader forks. Processes share a lock if they see the same folder; containers do if it is
// mounted into them. Thread-safe.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace tfabric::host {

class ProcessLock {
 public:
  struct Taken;

  // Tries to take the lock `name`, which is any text. Its file gets the permissions of the folder
  // (host/lock_folder.h). Fails, with the owner, if something that cannot be used is in the file's place.
  static Result<Taken> take(const std::string& folder, const std::string& name);

  // Returns the process that holds the lock, without taking it: 0 if that process is not visible from here,
  // nothing if no process holds it or if this cannot be determined.
  static std::optional<pid_t> holder(const std::string& folder, const std::string& name);

  ~ProcessLock();
  ProcessLock(ProcessLock&& other) noexcept;
  ProcessLock& operator=(ProcessLock&&) = delete;
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;

 private:
  ProcessLock(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_ = -1;
};

// The lock, or the process that holds it.
struct ProcessLock::Taken {
  std::optional<ProcessLock> lock;
  // 0: not visible from here, such as in another PID namespace. This process: it holds the lock already.
  pid_t holder = 0;
};

// Returns a text like "process 1234 (python3)", for messages; of another user's process also its user.
[[nodiscard]] std::string describe_process(pid_t process);

}  // namespace tfabric::host
