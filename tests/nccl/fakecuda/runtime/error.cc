#include "tests/nccl/fakecuda/runtime/error.h"

#include <utility>

#include "tests/nccl/fakecuda/api.h"

namespace fakecuda {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t fail(cudaError_t error) { return last_error = error; }

}  // namespace fakecuda

FAKECUDA_API cudaError_t cudaGetLastError() { return std::exchange(fakecuda::last_error, cudaSuccess); }

FAKECUDA_API cudaError_t cudaPeekAtLastError() { return fakecuda::last_error; }

FAKECUDA_API const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorNotReady:
      return "not ready";
    case cudaErrorNotSupported:
      return "operation not supported by fakecuda";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    default:
      return "fakecuda error";
  }
}

FAKECUDA_API const char* cudaGetErrorName(cudaError_t error) { return cudaGetErrorString(error); }
