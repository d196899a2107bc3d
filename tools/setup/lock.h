// One setup at a time on a host.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace tfabric::setup {

// Held until it is destroyed, or the process ends however.
class Lock {
 public:
  // Errors: somebody else has it.
  static Result<Lock> take(const std::string& path);
  Lock(Lock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Lock& operator=(Lock&&) = delete;
  ~Lock();

 private:
  explicit Lock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace tfabric::setup
