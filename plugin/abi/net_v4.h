// Version 4 of NCCL's network plugin table (NCCL 2.8 to 2.18): one buffer a call, no tags, handles of half
// the size, and a connect and an accept that return when they are done.
#pragma once

#include <cstddef>

#include "plugin/abi/types.h"

namespace tfabric::abi {

inline constexpr std::size_t kHandleBytesV4 = 64;  // NCCL_NET_HANDLE_MAXSIZE_V4

// ncclNetProperties_v4_t.
struct PropertiesV4 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  int maxComms;
};
static_assert(sizeof(PropertiesV4) == 40);
static_assert(offsetof(PropertiesV4, speed) == 28);
static_assert(offsetof(PropertiesV4, maxComms) == 36);

// ncclNet_v4_t.
struct NetV4 {
  const char* name;
  Result (*init)(LogCallback log);
  Result (*devices)(int* ndev);
  Result (*getProperties)(int dev, PropertiesV4* props);
  Result (*listen)(int dev, void* handle, void** listenComm);
  Result (*connect)(int dev, void* handle, void** sendComm);
  Result (*accept)(void* listenComm, void** recvComm);
  Result (*regMr)(void* comm, void* data, int size, int type, void** mhandle);
  Result (*deregMr)(void* comm, void* mhandle);
  Result (*isend)(void* sendComm, void* data, int size, void* mhandle, void** request);
  Result (*irecv)(void* recvComm, void* data, int size, void* mhandle, void** request);
  Result (*iflush)(void* recvComm, void* data, int size, void* mhandle, void** request);
  Result (*test)(void* request, int* done, int* size);
  Result (*closeSend)(void* sendComm);
  Result (*closeRecv)(void* recvComm);
  Result (*closeListen)(void* listenComm);
};
static_assert(sizeof(NetV4) == 16 * sizeof(void*));

}  // namespace tfabric::abi
