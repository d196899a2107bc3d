// One setup at a time on a host.
#pragma once

#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"

namespace tfabric::setup {

// Held until it is destroyed, or the process ends however.
class Lock {
 public:
  // Errors: somebody else has it.
  static Result<Lock> take(const std::string& path);

 private:
  explicit Lock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace tfabric::setup
