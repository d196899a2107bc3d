// Version 6 of NCCL's network plugin table (NCCL 2.13 and later): 32-bit sizes, no device handles.
#pragma once

#include <cstddef>

#include "plugin/abi/types.h"

namespace tfabric::abi {

// ncclNetProperties_v6_t.
struct PropertiesV6 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
};
static_assert(sizeof(PropertiesV6) == 48);
static_assert(offsetof(PropertiesV6, speed) == 28);
static_assert(offsetof(PropertiesV6, maxRecvs) == 44);

// ncclNet_v6_t.
struct NetV6 {
  const char* name;
  Result (*init)(LogCallback log);
  Result (*devices)(int* ndev);
  Result (*getProperties)(int dev, PropertiesV6* props);
  Result (*listen)(int dev, void* handle, void** listenComm);
  Result (*connect)(int dev, void* handle, void** sendComm);
  Result (*accept)(void* listenComm, void** recvComm);
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
};
static_assert(sizeof(NetV6) == 17 * sizeof(void*));

}  // namespace tfabric::abi
