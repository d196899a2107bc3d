// The signatures of version 4 of NCCL's table (NCCL 2.8 to 2.12, and 2.13 to 2.18 where no later version is
// exported): one buffer a call and no tags, a handle of half the size, and a connect and an accept that
// return when there is a comm. Private to tables.cc.
//
// NCCL calls both on the thread that makes the communicator, and on each rank all connects before any accept:
// so a connect must not need the peer's accept, and does not. Nothing can interrupt a call. An accept that
// waits long says so in the log, and every so often again; it does not give up, because a peer that is late
// is no error, and one that has ended is what launchers look for.
#pragma once

#include "plugin/abi/types.h"

namespace tfabric::plugin::shims {

abi::Result listen_short(int dev, void* handle, void** listener);
abi::Result connect_and_wait(int dev, void* handle, void** comm);
abi::Result accept_and_wait(void* listener, void** comm);
abi::Result isend(void* comm, void* data, int size, void* memory, void** request);
abi::Result irecv(void* comm, void* data, int size, void* memory, void** request);
abi::Result iflush(void* comm, void* data, int size, void* memory, void** request);

}  // namespace tfabric::plugin::shims
