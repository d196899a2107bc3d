// libibverbs, loaded at run time into one struct of its functions. The types are those of
// <infiniband/verbs.h>; nothing is linked.
//
// All other code takes `const Verbs&`, so that tests can replace the library by a provider of their own
// (tests/unit/rdma/fake_verbs.h). Its inline functions that need an exported symbol (ibv_query_port,
// ibv_reg_mr, …) must not be used: call the member of Verbs. Functions return what libibverbs' manual pages
// say: null, or a value other than 0, means failure, with errno. They are as thread-safe as libibverbs is.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace tfabric::rdma {

// ibv_port_attr::link_layer, for which the header has only unnamed constants.
enum class LinkLayer : std::uint8_t {
  unspecified = IBV_LINK_LAYER_UNSPECIFIED,
  infiniband = IBV_LINK_LAYER_INFINIBAND,
  ethernet = IBV_LINK_LAYER_ETHERNET
};

struct Verbs {
  ibv_device** (*get_device_list)(int* count) = nullptr;  // terminated by null
  void (*free_device_list)(ibv_device** list) = nullptr;
  ibv_context* (*open_device)(ibv_device*) = nullptr;
  int (*close_device)(ibv_context*) = nullptr;
  int (*query_device)(ibv_context*, ibv_device_attr*) = nullptr;
  // This symbol writes the fields before port_cap_flags2 only.
  int (*query_port)(ibv_context*, std::uint8_t port, ibv_port_attr*) = nullptr;
  int (*query_gid)(ibv_context*, std::uint8_t port, int index, ibv_gid*) = nullptr;
  // The key is in network byte order.
  // Blocks until there is an event. Each event must be acknowledged before the object that it is about can be
  // destroyed.
  int (*get_async_event)(ibv_context*, ibv_async_event*) = nullptr;
  void (*ack_async_event)(ibv_async_event*) = nullptr;
  // Called before any memory is registered. It keeps registered pages in place when the process forks.
  int (*fork_init)() = nullptr;

  ibv_pd* (*alloc_pd)(ibv_context*) = nullptr;
  int (*dealloc_pd)(ibv_pd*) = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd*, void* addr, std::size_t length, int access) = nullptr;
  // Null in libraries before rdma-core 28. It drops optional access flags that the kernel does not know, such
  // as relaxed ordering.
  ibv_mr* (*reg_mr_iova2)(ibv_pd*, void* addr, std::size_t length, std::uint64_t iova,
                          unsigned access) = nullptr;
  // Null in libraries before rdma-core 34.
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                           int access) = nullptr;
  int (*dereg_mr)(ibv_mr*) = nullptr;
  ibv_cq* (*create_cq)(ibv_context*, int cqe, void* cq_context, ibv_comp_channel*, int comp_vector) = nullptr;
  int (*destroy_cq)(ibv_cq*) = nullptr;
  ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*) = nullptr;  // updates cap to what was allocated
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int mask) = nullptr;
  int (*destroy_qp)(ibv_qp*) = nullptr;

  // Functions of libmlx5, for NVIDIA's HCAs. Null if the library is missing or older than rdma-core 54.
  bool (*mlx5_is_supported)(ibv_device*) = nullptr;
  // Returns ENODEV if the HCA has no Data Direct function. The path is relative to /sys.
  int (*mlx5_data_direct_path)(ibv_context*, char* path, std::size_t room) = nullptr;
  ibv_mr* (*mlx5_reg_dmabuf_mr)(ibv_pd*, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                                int access, int mlx5_access) = nullptr;
};

// For mlx5_access: access through the Data Direct function.
inline constexpr int kMlx5AccessDataDirect = 1 << 0;

inline constexpr const char* kVerbsLibrary = "libibverbs.so.1";
inline constexpr const char* kMlx5Library = "libmlx5.so.1";

// Loads libibverbs. Fails with Errc::unusable if the library or one of its symbols is missing; the message
// says what to install. The library stays loaded until the process ends, because its providers do not support
// unloading.
Result<Verbs> load_verbs(const std::string& library = kVerbsLibrary);

// Looks up functions of one of rdma-core's libraries by name and symbol version. An unversioned lookup could
// return the library's first version, whose structures have other layouts.
class Symbols {
 public:
  // Fails with Errc::unusable if the library cannot be loaded; the message ends with `fix`. The library stays
  // loaded until the process ends, because rdma-core's libraries do not support unloading.
  static Result<Symbols> load(const std::string& library, const std::string& fix);

  // Sets `function` to null if the library is too old to have the symbol.
  template <class Function>
  void take_optional(Function& function, const char* symbol, const char* version) {
    function = reinterpret_cast<Function>(find(symbol, version));
  }

  // If the symbol is missing, status() becomes an error.
  template <class Function>
  void take(Function& function, const char* symbol, const char* version) {
    take_optional(function, symbol, version);
    if (function == nullptr) {
      lacks(symbol, version);
    }
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  Symbols(void* library, std::string name, std::string fix)
      : library_(library), name_(std::move(name)), fix_(std::move(fix)) {}

  [[nodiscard]] void* find(const char* symbol, const char* version) const;
  void lacks(const char* symbol, const char* version);

  void* library_;
  std::string name_, fix_;
  Status status_;
};

}  // namespace tfabric::rdma
