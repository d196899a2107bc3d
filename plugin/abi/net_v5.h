// Version 5 of NCCL's network plugin table (NCCL 2.12 to 2.25): version 6 without DMA-BUF.
#pragma once

#include "plugin/abi/net_v6.h"

namespace tfabric::abi {

// ncclNetProperties_v5_t.
using PropertiesV5 = PropertiesV6;

// ncclNet_v5_t.
struct NetV5 {
  const char* name;
  Result (*init)(LogCallback log);
  Result (*devices)(int* ndev);
  Result (*getProperties)(int dev, PropertiesV5* props);
  Result (*listen)(int dev, void* handle, void** listenComm);
  Result (*connect)(int dev, void* handle, void** sendComm);
  Result (*accept)(void* listenComm, void** recvComm);
  Result (*regMr)(void* comm, void* data, int size, int type, void** mhandle);
  Result (*deregMr)(void* comm, void* mhandle);
  Result (*isend)(void* sendComm, void* data, int size, int tag, void* mhandle, void** request);
  Result (*irecv)(void* recvComm, int n, void** data, int* sizes, int* tags, void** mhandles, void** request);
  Result (*iflush)(void* recvComm, int n, void** data, int* sizes, void** mhandles, void** request);
  Result (*test)(void* request, int* done, int* sizes);
  Result (*closeSend)(void* sendComm);
  Result (*closeRecv)(void* recvComm);
  Result (*closeListen)(void* listenComm);
};
static_assert(sizeof(NetV5) == 16 * sizeof(void*));

}  // namespace tfabric::abi
