// A minimal libnvidia-ml.so.1: the GPUs of device.h, without NVLink. NCCL opens it by name.
#include "tests/nccl/fakecuda/api.h"
#include "tests/nccl/fakecuda/environment.h"

namespace {

// Values of nvmlReturn_t.
enum Status { kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3 };

// A device's handle is the address of its element.
constexpr unsigned kDevicesMax = 64;
char devices[kDevicesMax];

// How nvmlPciInfo_t begins.
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
};

unsigned device_count() { return static_cast<unsigned>(fakecuda::env_int("FAKECUDA_DEVICES", 1)); }

}  // namespace

FAKECUDA_API int nvmlInit_v2() { return kSuccess; }
FAKECUDA_API int nvmlInit() { return kSuccess; }
FAKECUDA_API int nvmlShutdown() { return kSuccess; }

FAKECUDA_API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = device_count();
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

FAKECUDA_API int nvmlDeviceGetHandleByIndex(unsigned index, void** device) {
  if (index >= device_count() || index >= kDevicesMax) {
    return kInvalidArgument;
  }
  *device = &devices[index];
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetHandleByPciBusId(const char*, void** device) {
  *device = &devices[0];
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetIndex(void* device, unsigned* index) {
  *index = static_cast<unsigned>(static_cast<char*>(device) - devices);
  return kSuccess;
}

// A place that no bus has, as bus_id() in device.h.
FAKECUDA_API int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  unsigned index = 0;
  nvmlDeviceGetIndex(device, &index);
  info->domain = 0xf0;
  info->bus = 0x10 + index;
  info->device = info->device_id = info->subsystem_id = 0;
  return kSuccess;
}

// PCIe 4.0 x16.
FAKECUDA_API int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) {
  *generation = 4;
  return kSuccess;
}
FAKECUDA_API int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* lanes) {
  *lanes = 16;
  return kSuccess;
}

FAKECUDA_API const char* nvmlErrorString(int status) {
  return status == kSuccess ? "success" : "fakecuda nvml error";
}

FAKECUDA_API int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  const int capability = fakecuda::env_int("FAKECUDA_CC", 80);
  *major = capability / 10;
  *minor = capability % 10;
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
  *status = 0;
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetNvLinkState(void*, unsigned, int* active) {
  *active = 0;
  return kNotSupported;
}

FAKECUDA_API int nvmlDeviceGetNvLinkCapability(void*, unsigned, int, unsigned* result) {
  *result = 0;
  return kNotSupported;
}
