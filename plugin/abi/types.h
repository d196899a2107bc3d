// NCCL's plugin interface: what all versions of the table share.
//
// Layouts are NCCL's and never change; the assertions beside each struct are the contract.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tfabric::abi {

// ncclResult_t.
enum class Result : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
};

// ncclDebugLogLevel.
enum class LogLevel : int { none = 0, version = 1, warn = 2, info = 3, abort = 4, trace = 5 };

// ncclDebugLogger_t: printf-style, thread-safe; NCCL adds the newline.
using LogCallback = void (*)(LogLevel level, unsigned long flags, const char* file, int line,
                             const char* format, ...);
// ncclProfilerCallback_t.
using ProfilerCallback = Result (*)(void** event, int type, void* parent, std::int64_t plugin_id,
                                    void* extra);

inline constexpr std::size_t kHandleBytes = 128;  // NCCL_NET_HANDLE_MAXSIZE
// NCCL_PTR_*: bits of ptrSupport, and the type of a registration.
inline constexpr int kPointerHost = 0x1, kPointerCuda = 0x2, kPointerDmabuf = 0x4;
inline constexpr int kDeviceTypeHost = 0;        // NCCL_NET_DEVICE_HOST
inline constexpr int kDeviceVersionInvalid = 0;  // NCCL_NET_DEVICE_INVALID_VERSION
inline constexpr std::int16_t kUndefinedRail = -1;

// ncclNetCommConfig_t (v10 and later).
struct Config {
  int trafficClass;
};

// ncclNetDeviceHandle_t (v7 and later).
struct DeviceHandle {
  int netDeviceType;
  int netDeviceVersion;
  void* handle;
  std::size_t size;
  int needsProxyProgress;
};
static_assert(sizeof(DeviceHandle) == 32);

// ncclNetVDeviceProps_t: the members of a fused device.
struct VProps {
  int ndevs;
  int devs[4];
};
static_assert(sizeof(VProps) == 20);
struct VPropsV12 {
  int ndevs;
  int devs[8];
};
static_assert(sizeof(VPropsV12) == 36);

// ncclNetCommAttr_t, ncclNetAttr_t (v11 and later): hints.
struct CommAttr {
  std::int32_t maxConcurrentPeers, minConcurrentPeers, maxFlowsPerPeer, minFlowsPerPeer;
};
struct NetAttr {
  CommAttr sendCommAttr, recvCommAttr;
  std::uint32_t op, algo, proto;
};
static_assert(sizeof(NetAttr) == 44);

}  // namespace tfabric::abi
