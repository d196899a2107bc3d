// Any NCCL network plugin (libnccl-net*.so), loaded the way NCCL loads it, behind one class that hides
// which table version it exports (v4 ... v12).
//
// Used by `tfabric perf`, `tfabric info` and the benchmarks, so that they see exactly what NCCL sees.
// Arguments have the widest types of any version; what an older table cannot carry is refused with a
// clear error. "Not yet" is a null pointer or `false`, as in NCCL.
//
// Threads: as NCCL calls a plugin; the log callback may come from any thread. Ownership: comms,
// listeners, requests and memory handles are the plugin's, closed by the calls below. The library stays
// mapped after the loader is gone (its threads may still run), like NCCL_NET_PLUGIN_REF_COUNT=1.
// Errors carry the plugin's result code by name and the last warning it logged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tfabric::tools {

inline constexpr int kNewestTable = 12;
inline constexpr int kOldestTable = 4;

// All fields of the v12 table; what an older table lacks has NCCL's own substitute.
struct PluginProperties {
  std::string name;
  std::string pci_path;
  std::uint64_t guid = 0;
  int ptr_support = 0;
  int reg_is_global = 0;
  int force_flush = 0;
  int speed_mbps = 0;
  int port = 0;
  float latency_us = 0;
  int max_comms = 0;
  int max_recvs = 1;
  int net_device_type = 0;
  int net_device_version = 0;
  std::vector<int> virtual_devices;
  std::uint64_t max_p2p_bytes = std::uint64_t{1} << 30;
  std::uint64_t max_coll_bytes = std::uint64_t{512} << 20;
  int max_multi_request_size = 1;
  int rail_id = -1;
  int plane_id = -1;
};

struct PluginLogLine {
  int level = 0;            // ncclDebugLogLevel: 2 WARN, 3 INFO, 5 TRACE
  unsigned long flags = 0;  // ncclDebugLogSubSys bits
  std::string text;
};
// Called under a lock, from any thread; must not call into the plugin.
using PluginLogger = std::function<void(const PluginLogLine&)>;

using PluginHandle = std::array<std::byte, 128>;

struct PluginReceive {
  void* data = nullptr;
  std::size_t size = 0;
  int tag = 0;
  void* memory = nullptr;  // from register_memory()
};

class PluginTable;

class PluginLoader {
 public:
  // `path` as for dlopen: a file, or a name looked up as the dynamic linker does. Without `version` the
  // newest table is taken. Errc::unusable says why the library cannot be loaded or which tables it has.
  static Result<PluginLoader> open(const std::string& path, std::optional<int> version = std::nullopt);
  ~PluginLoader();
  PluginLoader(PluginLoader&&) noexcept;
  PluginLoader& operator=(PluginLoader&&) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string name() const;
  [[nodiscard]] int version() const;
  [[nodiscard]] std::vector<int> versions() const { return versions_; }  // all that the library exports

  Status init(PluginLogger logger);
  Result<int> devices();
  Result<PluginProperties> properties(int device);

  Result<void*> listen(int device, PluginHandle& handle);
  Result<void*> connect(int device, PluginHandle& handle);  // null: call again with the same handle
  Result<void*> accept(void* listener);                     // null: call again
  Result<void*> register_memory(void* comm, void* data, std::size_t size);  // host memory
  Status deregister_memory(void* comm, void* memory);
  Result<void*> isend(void* comm, void* data, std::size_t size, int tag, void* memory);  // null: call again
  Result<void*> irecv(void* comm, std::span<const PluginReceive> buffers);               // null: call again
  // `sizes` may be null; else it has room for as many ints as the receive had buffers.
  Result<bool> test(void* request, int* sizes);
  Result<void*> iflush(void* comm, std::span<const PluginReceive> buffers);  // null: nothing to wait for
  Status close_send(void* comm);
  Status close_recv(void* comm);
  Status close_listen(void* listener);
  Status finalize();  // does nothing for tables before v11, which have none

 private:
  PluginLoader(std::string path, std::unique_ptr<PluginTable> table, std::vector<int> versions);
  std::string path_;
  std::unique_ptr<PluginTable> table_;
  std::vector<int> versions_;
};

// The plugin that belongs to this installation: libnccl-net.so beside the running executable, or in the
// folder of libraries beside the executable's, which is lib, Fedora's lib64 or Debian's lib/x86_64-linux-gnu;
// else the bare name for the dynamic linker to find.
[[nodiscard]] std::string default_plugin_path();

}  // namespace tfabric::tools
