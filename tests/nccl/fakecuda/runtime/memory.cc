// Runtime API: memory and memory pools.
#include "tests/nccl/fakecuda/memory.h"

#include <cstring>
#include <memory>
#include <string>

#include "tests/nccl/fakecuda/api.h"
#include "tests/nccl/fakecuda/log.h"
#include "tests/nccl/fakecuda/runtime/error.h"
#include "tests/nccl/fakecuda/streams.h"

using namespace fakecuda;

FAKECUDA_API cudaError_t cudaMalloc(void** data, std::size_t size) {
  *data = allocate(size, cudaMemoryTypeDevice);
  trace(2, "cudaMalloc({})={}", size, *data);
  return *data != nullptr ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

FAKECUDA_API cudaError_t cudaFree(void* data) {
  return data == nullptr || release(data) ? cudaSuccess : fail(cudaErrorInvalidValue);
}

FAKECUDA_API cudaError_t cudaHostAlloc(void** data, std::size_t size, unsigned) {
  *data = allocate(size, cudaMemoryTypeHost);
  trace(2, "cudaHostAlloc({})={}", size, *data);
  return *data != nullptr ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

FAKECUDA_API cudaError_t cudaMallocHost(void** data, std::size_t size) {
  return cudaHostAlloc(data, size, 0);
}

FAKECUDA_API cudaError_t cudaFreeHost(void* data) { return cudaFree(data); }

FAKECUDA_API cudaError_t cudaHostRegister(void* data, std::size_t size, unsigned) {
  add_pinned(data, size);
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaHostUnregister(void* data) {
  remove_pinned(data);
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* data) {
  *out = {};
  const auto allocation = find_allocation(data);
  if (!allocation) {
    out->type = cudaMemoryTypeUnregistered;
    out->device = -2;  // as CUDA says: no device
    return cudaSuccess;
  }
  out->type = allocation->type;
  out->device = allocation->device;
  out->devicePointer = const_cast<void*>(data);
  out->hostPointer = allocation->type == cudaMemoryTypeHost ? const_cast<void*>(data) : nullptr;
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind,
                                         cudaStream_t handle) {
  const auto stream = find_stream(handle);
  if (stream == nullptr) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  if (kind != cudaMemcpyDeviceToDevice && !find_allocation(from)) {
    // The caller may reuse a pageable source as soon as the call returns: stage it, as CUDA does.
    const auto staged = std::make_shared<std::string>(static_cast<const char*>(from), size);
    stream->push([=] { std::memcpy(to, staged->data(), size); });
  } else {
    stream->push([=] { std::memmove(to, from, size); });
  }
  if (kind == cudaMemcpyDeviceToHost && !find_allocation(to)) {
    stream->drain();
  }
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind) {
  find_stream(nullptr)->drain();
  std::memmove(to, from, size);
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaMemset(void* data, int value, std::size_t size) {
  find_stream(nullptr)->drain();
  std::memset(data, value, size);
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaMemsetAsync(void* data, int value, std::size_t size, cudaStream_t handle) {
  const auto stream = find_stream(handle);
  if (stream == nullptr) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  stream->push([=] { std::memset(data, value, size); });
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaMemGetInfo(std::size_t* unused, std::size_t* total) {
  *unused = 7ULL << 30;
  *total = 8ULL << 30;
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaMallocAsync(void** data, std::size_t size, cudaStream_t) {
  return cudaMalloc(data, size);
}

FAKECUDA_API cudaError_t cudaFreeAsync(void* data, cudaStream_t handle) {
  const auto stream = find_stream(handle);
  if (stream == nullptr) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  stream->push([=] {
    if (data != nullptr) {
      release(data);
    }
  });
  return cudaSuccess;
}

// A pool is an address and nothing else: all pools allocate alike.
FAKECUDA_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = reinterpret_cast<cudaMemPool_t>(new char);
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  delete reinterpret_cast<char*>(pool);
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }

FAKECUDA_API cudaError_t cudaMallocFromPoolAsync(void** data, std::size_t size, cudaMemPool_t, cudaStream_t) {
  return cudaMalloc(data, size);
}
