#include "tests/nccl/fakecuda/device.h"

#include <cuda.h>
#include <fmt/format.h>

#include <cstdlib>

#include "tests/nccl/fakecuda/environment.h"

namespace fakecuda {
namespace {

thread_local int device_of_thread = 0;

}  // namespace

int device_count() { return env_int("FAKECUDA_DEVICES", 1); }
int compute_capability() { return env_int("FAKECUDA_CC", 80); }
int toolkit() { return env_int("FAKECUDA_TOOLKIT", 13); }
int driver_version() { return env_int("FAKECUDA_DRIVER", 13000); }

std::string bus_id(int device) {
  const char* chosen = std::getenv("FAKECUDA_BUSID");
  if (chosen != nullptr && *chosen != '\0' && device == 0) {
    return chosen;
  }
  return fmt::format("00f0:{:02x}:00.0", 0x10 + device);
}

int device_attribute(int attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return compute_capability() / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return compute_capability() % 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 166912;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 49152;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 108;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
      return 1;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return 0x10;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
      return 0xf0;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
      return env_int("FAKECUDA_GDR", 0);
    default:
      return 0;  // no virtual memory management, no multicast, no dma-buf
  }
}

int current_device() { return device_of_thread; }
void set_current_device(int device) { device_of_thread = device; }

}  // namespace fakecuda
