// A failure ends the rank with an exit code for its kind.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdexcept>

namespace selftest {

enum ExitCode : int {
  kAllRight = 0,
  kWrongValues = 1,
  kNcclFailed = 2,
  kCudaFailed = 3,
  kAsynchronousError = 7,  // NCCL reported one, and aborting went well
  kStalled = 8,            // no progress, and aborting went well
  kUsage = 64,
  kNoId = 65,
};

class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& what) : std::runtime_error(what), code_(code) {}
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Not std::source_location: clang 14 lacks it.
void check(ncclResult_t result, const char* file = __builtin_FILE(), int line = __builtin_LINE());
void check(cudaError_t result, const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace selftest
