#include "tests/nccl/selftest/error.h"

#include <fmt/format.h>

namespace selftest {

void check(ncclResult_t result, std::source_location where) {
  if (result != ncclSuccess && result != ncclInProgress) {
    throw Failure(kNcclFailed,
                  fmt::format("{}:{}: {}; NCCL's last error: {}", where.file_name(), where.line(),
                              ncclGetErrorString(result), ncclGetLastError(nullptr)));
  }
}

void check(cudaError_t result, std::source_location where) {
  if (result != cudaSuccess) {
    throw Failure(kCudaFailed, fmt::format("{}:{}: CUDA: {} ({})", where.file_name(), where.line(),
                                           cudaGetErrorString(result), static_cast<int>(result)));
  }
}

}  // namespace selftest
