// Locks among the processes of a network namespace, for what lies in that namespace whatever else the
// processes see: two containers with one network may each have a folder of locks of their own
// (host/process_lock.h).
//
// A lock is a listening Unix socket with an abstract name. It ends with its process, and the kernel tells who
// has it. Any process of the namespace can take a name first, so whose it is counts. Thread-safe.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "base/fork_guard.h"
#include "base/result.h"

namespace tfabric::host {

struct LockOwner {
  pid_t process = 0;  // 0: not visible from here
  std::optional<uid_t> user;
  bool silent = false;  // it has the name and does not listen: it is not one of ours
};

class NamespaceLock {
 public:
  struct Taken;

  // Tries to take the lock `name`, which is any text. `known`: the owner that was found before, who is not
  // asked for again; or null.
  static Result<Taken> take(const std::string& name, const LockOwner* known = nullptr);
  // Returns who has the lock, without taking it; nothing if it is free.
  static std::optional<LockOwner> owner(const std::string& name);

 private:
  explicit NamespaceLock(PrivateDescriptor socket) : socket_(std::move(socket)) {}

  PrivateDescriptor socket_;
};

// The lock, or the process that has it: of the owner nothing may be known.
struct NamespaceLock::Taken {
  std::optional<NamespaceLock> lock;
  LockOwner owner;
};

// Returns true if the owner is root's process or this user's, which have the lock for the same reason as this
// one would. Of one of which nothing is known it is assumed.
[[nodiscard]] bool is_trusted(const LockOwner& owner);

// "process 1234 (python3) of uid 0", or what is known, for messages.
[[nodiscard]] std::string describe(const LockOwner& owner);

}  // namespace tfabric::host
