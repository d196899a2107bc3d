// Version 7 of NCCL's network plugin table (NCCL 2.19 and later): device handles, device offload.
#pragma once

#include <cstddef>

#include "plugin/abi/types.h"

namespace tfabric::abi {

// ncclNetProperties_v7_t.
struct PropertiesV7 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
};
static_assert(sizeof(PropertiesV7) == 56);
static_assert(offsetof(PropertiesV7, netDeviceType) == 48);

// ncclNet_v7_t.
struct NetV7 {
  const char* name;
  Result (*init)(LogCallback log);
  Result (*devices)(int* ndev);
  Result (*getProperties)(int dev, PropertiesV7* props);
  Result (*listen)(int dev, void* handle, void** listenComm);
  Result (*connect)(int dev, void* handle, void** sendComm, DeviceHandle** sendDevComm);
  Result (*accept)(void* listenComm, void** recvComm, DeviceHandle** recvDevComm);
  Result (*regMr)(void* comm, void* data, int size, int type, void** mhandle);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                        void** mhandle);
  Result (*deregMr)(void* comm, void* mhandle);
  Result (*isend)(void* sendComm, void* data, int size, int tag, void* mhandle, void** request);
  Result (*irecv)(void* recvComm, int n, void** data, int* sizes, int* tags, void** mhandles, void** request);
  Result (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  Result (*test)(void* request, int* done, int* sizes);
  Result (*closeSend)(void* sendComm);
  Result (*closeRecv)(void* recvComm);
  Result (*closeListen)(void* listenComm);
  Result (*getDeviceMr)(void* comm, void* mhandle, void** dptr_mhandle);
  Result (*irecvConsumed)(void* recvComm, int n, void* request);
};
static_assert(sizeof(NetV7) == 19 * sizeof(void*));

}  // namespace tfabric::abi
