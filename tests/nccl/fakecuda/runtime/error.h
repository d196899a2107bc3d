// The last error of the calling thread.
#pragma once

#include <cuda_runtime_api.h>

namespace fakecuda {

// Remembers `error` for cudaGetLastError, and returns it.
cudaError_t fail(cudaError_t error);

}  // namespace fakecuda
