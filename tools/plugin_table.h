// One table version of a plugin behind a virtual interface in the widest types: the private half of
// plugin_loader.h. The results are ncclResult_t as int; PluginLoader turns them into Errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "plugin/abi/types.h"
#include "tools/plugin_loader.h"

namespace tfabric::tools {

class PluginTable {
 public:
  PluginTable() = default;
  PluginTable(const PluginTable&) = delete;
  PluginTable& operator=(const PluginTable&) = delete;
  virtual ~PluginTable() = default;

  [[nodiscard]] virtual int version() const = 0;
  [[nodiscard]] virtual const char* name() const = 0;
  // Returns the name of the first member that is null though NCCL calls it, or null if there is none.
  [[nodiscard]] virtual const char* missing_member() const = 0;
  // The largest sizes that NCCL uses with this version of the table, in bytes.
  [[nodiscard]] virtual std::size_t largest_message() const = 0;
  [[nodiscard]] virtual std::size_t largest_registration() const = 0;

  virtual int init(abi::LogCallback log) = 0;
  virtual int devices(int* count) = 0;
  virtual int properties(int device, PluginProperties& out) = 0;
  virtual int listen(int device, void* handle, void** listener) = 0;
  virtual int connect(int device, void* handle, void** comm) = 0;
  virtual int accept(void* listener, void** comm) = 0;
  // `kind`: NCCL_PTR_HOST or NCCL_PTR_CUDA (abi::kPointerHost, abi::kPointerCuda).
  virtual int register_memory(void* comm, void* data, std::size_t size, int kind, void** memory) = 0;
  virtual int deregister_memory(void* comm, void* memory) = 0;
  virtual int isend(void* comm, void* data, std::size_t size, int tag, void* memory, void** request) = 0;
  virtual int irecv(void* comm, std::span<const PluginReceive> buffers, void** request) = 0;
  virtual int test(void* request, int* done, int* sizes) = 0;
  virtual int iflush(void* comm, std::span<const PluginReceive> buffers, void** request) = 0;
  virtual int close_send(void* comm) = 0;
  virtual int close_recv(void* comm) = 0;
  virtual int close_listen(void* listener) = 0;
  virtual int finalize() = 0;
};

// `symbol` is what dlsym returned for ncclNetPlugin_v<version>, never null. Returns Errc::invalid_usage if
// the layout of that version is unknown: unknown_table().
[[nodiscard]] Error unknown_table(int version);
Result<std::unique_ptr<PluginTable>> make_plugin_table(int version, void* symbol);

}  // namespace tfabric::tools
