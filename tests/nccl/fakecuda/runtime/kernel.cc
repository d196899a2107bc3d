// Runtime API: functions and launches.
#include "tests/nccl/fakecuda/kernels/kernel.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>

#include "tests/nccl/fakecuda/api.h"
#include "tests/nccl/fakecuda/launch.h"
#include "tests/nccl/fakecuda/log.h"
#include "tests/nccl/fakecuda/runtime/error.h"
#include "tests/nccl/fakecuda/symbols.h"

using namespace fakecuda;

FAKECUDA_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  // Later members are unknown to older releases of CUDA.
  std::memset(attributes, 0, offsetof(cudaFuncAttributes, clusterDimMustBeSet));
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }

// A function is known by the address of its host stub.
FAKECUDA_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  *function = static_cast<cudaFunction_t>(const_cast<void*>(symbol));
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaLaunchKernel(const void* symbol, dim3 grid, dim3, void** arguments, std::size_t,
                                          cudaStream_t stream) {
  trace(1, "cudaLaunchKernel({}) grid={} (arguments by pointer)", symbol_name(symbol), grid.x);
  const std::size_t size = kernels::argument_bytes(symbol);
  if (size == 0) {
    return fail(cudaErrorNotSupported);
  }
  return enqueue_kernel(symbol, grid.x, stream, arguments[0], size) ? cudaSuccess
                                                                    : fail(cudaErrorInvalidResourceHandle);
}
