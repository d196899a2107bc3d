// Runtime API: devices.
#include "tests/nccl/fakecuda/device.h"

#include <cuda_runtime_api.h>
#include <strings.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "tests/nccl/fakecuda/api.h"
#include "tests/nccl/fakecuda/log.h"
#include "tests/nccl/fakecuda/runtime/error.h"
#include "tests/nccl/fakecuda/streams.h"

using namespace fakecuda;

FAKECUDA_API cudaError_t cudaDriverGetVersion(int* version) {
  *version = driver_version();
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= device_count()) {
    return fail(cudaErrorInvalidDevice);
  }
  set_current_device(device);
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaInitDevice(int, unsigned, unsigned) { return cudaSuccess; }

FAKECUDA_API cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "%s", bus_id(device).c_str());
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  for (int i = 0; i < device_count(); ++i) {
    if (strcasecmp(bus_id(i).c_str(), text) == 0) {
      *device = i;
      return cudaSuccess;
    }
  }
  return fail(cudaErrorInvalidValue);
}

FAKECUDA_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = device_attribute(attribute);
  trace(3, "cudaDeviceGetAttribute({})={}", static_cast<int>(attribute), *value);
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "fakecuda CPU device");
  properties->major = compute_capability() / 10;
  properties->minor = compute_capability() % 10;
  properties->totalGlobalMem = 8ULL << 30;
  properties->multiProcessorCount = 108;
  properties->warpSize = 32;
  properties->sharedMemPerBlockOptin = 166912;
  properties->maxThreadsPerBlock = 1024;
  properties->unifiedAddressing = 1;
  properties->canMapHostMemory = 1;
  properties->pciDomainID = 0xf0;
  properties->pciBusID = 0x10;
  return cudaSuccess;
}

// What libraries built with CUDA 12 call. Their cudaDeviceProp has 1,032 bytes and members that 13's lacks,
// so that all behind the first of these, clockRate, lie elsewhere: the offsets follow from the reference of
// CUDA 12's runtime API, "cudaDeviceProp".
FAKECUDA_API cudaError_t cudaGetDeviceProperties_v2(void* properties, int device) {
  constexpr std::size_t kBytes = 1032;
  cudaDeviceProp own{};
  cudaGetDeviceProperties(&own, device);
  std::memset(properties, 0, kBytes);
  const auto put = [properties](std::size_t at, const auto& value) {
    std::memcpy(static_cast<std::byte*>(properties) + at, &value, sizeof value);
  };
  static_assert(offsetof(cudaDeviceProp, maxThreadsPerBlock) == 320);  // and all before it
  put(0, own.name);
  put(288, own.totalGlobalMem);
  put(308, own.warpSize);
  put(320, own.maxThreadsPerBlock);
  put(360, own.major);
  put(364, own.minor);
  put(388, own.multiProcessorCount);
  put(400, own.canMapHostMemory);
  put(584, own.pciBusID);
  put(592, own.pciDomainID);
  put(604, own.unifiedAddressing);
  put(696, own.sharedMemPerBlockOptin);
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) { return cudaSuccess; }

FAKECUDA_API cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit) {
  *value = 1024;
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return fail(cudaErrorPeerAccessUnsupported);
}

FAKECUDA_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) {
    *least = 0;
  }
  if (greatest != nullptr) {
    *greatest = 0;
  }
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaDeviceSynchronize() {
  for (const auto& stream : all_streams()) {
    stream->drain();
  }
  return cudaSuccess;
}

FAKECUDA_API cudaError_t cudaDeviceReset() { return cudaSuccess; }
