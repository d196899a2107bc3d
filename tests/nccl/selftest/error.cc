#include "tests/nccl/selftest/error.h"

#include <fmt/format.h>

namespace selftest {

void check(ncclResult_t result, const char* file, int line) {
  if (result != ncclSuccess && result != ncclInProgress) {
    throw Failure(kNcclFailed, fmt::format("{}:{}: {}; NCCL's last error: {}", file, line,
                                           ncclGetErrorString(result), ncclGetLastError(nullptr)));
  }
}

void check(cudaError_t result, const char* file, int line) {
  if (result != cudaSuccess) {
    throw Failure(kCudaFailed, fmt::format("{}:{}: CUDA: {} ({})", file, line, cudaGetErrorString(result),
                                           static_cast<int>(result)));
  }
}

}  // namespace selftest
