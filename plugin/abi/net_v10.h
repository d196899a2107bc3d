// Version 10 of NCCL's network plugin table (NCCL 2.26 and later): profiler, per-connection configuration.
#pragma once

#include <cstddef>

#include "plugin/abi/types.h"

namespace tfabric::abi {

// ncclNetProperties_v10_t.
struct PropertiesV10 {
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
  VProps vProps;
  std::size_t maxP2pBytes;
  std::size_t maxCollBytes;
};
static_assert(sizeof(PropertiesV10) == 104);

// ncclNet_v10_t.
struct NetV10 {
  const char* name;
  Result (*init)(LogCallback log, ProfilerCallback profiler);
  Result (*devices)(int* ndev);
  Result (*getProperties)(int dev, PropertiesV10* props);
  Result (*listen)(int dev, void* handle, void** listenComm);
  Result (*connect)(int dev, Config* config, void* handle, void** sendComm, DeviceHandle** sendDevComm);
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
  Result (*makeVDevice)(int* d, VProps* props);
};
static_assert(sizeof(NetV10) == 20 * sizeof(void*));

}  // namespace tfabric::abi
