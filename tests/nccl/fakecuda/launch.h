// Puts a kernel of NCCL's into a stream. The runtime's and the driver's launch calls end here.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace fakecuda {

// `arguments` are copied. False if there is no such stream.
bool enqueue_kernel(const void* symbol, unsigned blocks, cudaStream_t stream, const void* arguments,
                    std::size_t size);

}  // namespace fakecuda
