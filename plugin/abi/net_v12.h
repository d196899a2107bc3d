// Version 12 of NCCL's network plugin table (NCCL 2.30 and later): rails and planes, eight members in a fused
// device.
#pragma once

#include <cstddef>

#include "plugin/abi/types.h"

namespace tfabric::abi {

// ncclNetProperties_v12_t.
struct PropertiesV12 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  VPropsV12 vProps;
  std::size_t maxP2pBytes;
  std::size_t maxCollBytes;
  int maxMultiRequestSize;
  std::int16_t railId;
  std::int16_t planeId;
};
static_assert(sizeof(PropertiesV12) == 128);
static_assert(offsetof(PropertiesV12, maxP2pBytes) == 104);
static_assert(offsetof(PropertiesV12, maxMultiRequestSize) == 120);
static_assert(offsetof(PropertiesV12, railId) == 124);
static_assert(offsetof(PropertiesV12, planeId) == 126);

// ncclNet_v12_t.
struct NetV12 {
  const char* name;
  Result (*init)(void** ctx, std::uint64_t commId, Config* config, LogCallback log,
                 ProfilerCallback profiler);
  Result (*devices)(int* ndev);
  Result (*getProperties)(int dev, PropertiesV12* props);
  Result (*listen)(void* ctx, int dev, void* handle, void** listenComm);
  Result (*connect)(void* ctx, int dev, void* handle, void** sendComm, DeviceHandle** sendDevComm);
  Result (*accept)(void* listenComm, void** recvComm, DeviceHandle** recvDevComm);
  Result (*regMr)(void* comm, void* data, std::size_t size, int type, void** mhandle);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                        void** mhandle);
  Result (*deregMr)(void* comm, void* mhandle);
  Result (*isend)(void* sendComm, void* data, std::size_t size, int tag, void* mhandle, void* phandle,
                  void** request);
  Result (*irecv)(void* recvComm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                  void** phandles, void** request);
  Result (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  Result (*test)(void* request, int* done, int* sizes);
  Result (*closeSend)(void* sendComm);
  Result (*closeRecv)(void* recvComm);
  Result (*closeListen)(void* listenComm);
  Result (*getDeviceMr)(void* comm, void* mhandle, void** dptr_mhandle);
  Result (*irecvConsumed)(void* recvComm, int n, void* request);
  Result (*makeVDevice)(int* d, VPropsV12* props);
  Result (*finalize)(void* ctx);
  Result (*setNetAttr)(void* ctx, NetAttr* attr);
};
static_assert(sizeof(NetV12) == 22 * sizeof(void*));

}  // namespace tfabric::abi
