// NCCL's calls in the widest types of all versions; the tables of the versions (tables.cc) are shims over
// them.
//
// They do what NCCL's contract asks of any plugin, whatever its transport: arguments are checked, outputs are
// always assigned, an error is logged once, and no exception leaves. Threads: as NCCL calls a plugin. The
// calls are in adapter.cc (devices and connections) and messages.cc (memory and messages).
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugin/abi/types.h"
#include "transport/transport.h"

namespace tfabric::plugin {

inline constexpr const char* kName = "tfabric";

// `table`: the version of the table by which NCCL calls.
abi::Result init(abi::LogCallback log, int table);
abi::Result finalize();
abi::Result devices(int* count);
// Returns null, and logs why, if there is no such device.
const transport::DeviceProperties* properties(int device);

abi::Result listen(int device, void* handle, const transport::ListenOptions& options, void** listener);
abi::Result connect(int device, void* handle, const transport::ConnectOptions& options, void** comm);
abi::Result accept(void* listener, void** comm);

abi::Result register_memory(void* comm, void* data, std::size_t size, int type, void** memory);
abi::Result register_dmabuf(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                            void** memory);
abi::Result deregister_memory(void* comm, void* memory);

abi::Result isend(void* comm, void* data, std::size_t size, int tag, void* memory, void** request);
// `Size` is int or std::size_t, by version.
template <class Size>
abi::Result irecv(void* comm, int n, void** data, const Size* sizes, const int* tags, void** memories,
                  void** request);
abi::Result iflush(void* comm, int n, void** data, const int* sizes, void** memories, void** request);
abi::Result test(void* request, int* done, int* sizes);

abi::Result close_send(void* comm);
abi::Result close_recv(void* comm);
abi::Result close_listen(void* listener);

}  // namespace tfabric::plugin
