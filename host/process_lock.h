// Locks by which processes of a host agree who has what. One dies with its process, however that ends, and
// whatever children it leaves.
//
// They are record locks of fcntl() (POSIX), which belong to the process: a lock of flock() would live on in
// the child that a data loader forks. They hold among processes that see one folder: containers do if it is
// mounted into them.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>

#include "base/result.h"

namespace tfabric::host {

class ProcessLock {
 public:
  struct Taken;

  // `name`: of what is locked; any text. Fails if the folder or its files cannot be used.
  static Result<Taken> take(const std::string& folder, const std::string& name);

  // Who has it, without taking it: nothing if nobody has; 0: a process that cannot be seen from here. What
  // cannot be looked at is taken for nobody's.
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

// The lock, or who has it.
struct ProcessLock::Taken {
  std::optional<ProcessLock> lock;
  pid_t holder =
      0;  // 0: cannot be seen from here, as in another PID namespace; this process: it has it itself
};

// Those that are used if none is configured: the first that can be written.
inline constexpr std::array<const char*, 2> kLockFolders{"/run/lock/tfabric", "/tmp/tfabric-lock"};
// The folder to use, made if need be, with everybody's right to write: `configured`, or, if that is empty,
// one of kLockFolders.
[[nodiscard]] Result<std::string> lock_folder(const std::string& configured);

// "process 1234 (python3)", for messages.
[[nodiscard]] std::string describe_process(pid_t process);

}  // namespace tfabric::host
