#include "tests/nccl/fakecuda/launch.h"

#include <memory>
#include <string>

#include "tests/nccl/fakecuda/kernels/kernel.h"
#include "tests/nccl/fakecuda/streams.h"

namespace fakecuda {

bool enqueue_kernel(const void* symbol, unsigned blocks, cudaStream_t handle, const void* arguments,
                    std::size_t size) {
  const auto stream = find_stream(handle);
  if (stream == nullptr) {
    return false;
  }
  const auto copy = std::make_shared<std::string>(static_cast<const char*>(arguments), size);
  stream->push([=] { kernels::run_kernel(symbol, blocks, copy->data(), copy->size()); });
  return true;
}

}  // namespace fakecuda
