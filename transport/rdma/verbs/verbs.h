// libibverbs, loaded at run time: one struct of its functions.
//
// Everything above takes `const Verbs&`, so that tests put a provider of their own in its place
// (tests/unit/rdma/fake_verbs.h). Symbols are taken by version: the unversioned lookup would find those of
// libibverbs 1.0, whose layouts are others. Functions return what libibverbs' manual pages say: null, or a
// value that is not 0, is failure, with errno. Thread-safe as libibverbs is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "transport/rdma/verbs/abi.h"
#include "transport/rdma/verbs/queue_abi.h"

namespace tfabric::rdma {

struct Verbs {
  ibv::Device** (*get_device_list)(int* count) = nullptr;  // ends with null
  void (*free_device_list)(ibv::Device** list) = nullptr;
  ibv::Context* (*open_device)(ibv::Device*) = nullptr;
  int (*close_device)(ibv::Context*) = nullptr;
  int (*query_device)(ibv::Context*, ibv::DeviceAttr*) = nullptr;
  // Writes what precedes port_cap_flags2.
  int (*query_port)(ibv::Context*, std::uint8_t port, ibv::PortAttr*) = nullptr;
  int (*query_gid)(ibv::Context*, std::uint8_t port, int index, ibv::Gid*) = nullptr;
  // The key is in network byte order.
  int (*query_pkey)(ibv::Context*, std::uint8_t port, int index, std::uint16_t* pkey) = nullptr;
  // Blocks until there is one. Each must be acknowledged before what it is about can be destroyed.
  int (*get_async_event)(ibv::Context*, ibv::AsyncEvent*) = nullptr;
  void (*ack_async_event)(ibv::AsyncEvent*) = nullptr;
  // Before any memory is registered: a fork is to leave registered pages where they are.
  int (*fork_init)() = nullptr;

  ibv::Pd* (*alloc_pd)(ibv::Context*) = nullptr;
  int (*dealloc_pd)(ibv::Pd*) = nullptr;
  ibv::Mr* (*reg_mr)(ibv::Pd*, void* addr, std::size_t length, int access) = nullptr;
  // Null in libraries before rdma-core 28. Flags that the kernel does not know and may ignore, such as
  // relaxed ordering, are left away by it.
  ibv::Mr* (*reg_mr_iova2)(ibv::Pd*, void* addr, std::size_t length, std::uint64_t iova,
                           unsigned access) = nullptr;
  // Null in libraries before rdma-core 34.
  ibv::Mr* (*reg_dmabuf_mr)(ibv::Pd*, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                            int access) = nullptr;
  int (*dereg_mr)(ibv::Mr*) = nullptr;
  ibv::Cq* (*create_cq)(ibv::Context*, int cqe, void* cq_context, ibv::CompChannel*,
                        int comp_vector) = nullptr;
  int (*destroy_cq)(ibv::Cq*) = nullptr;
  ibv::Qp* (*create_qp)(ibv::Pd*, ibv::QpInitAttr*) = nullptr;  // writes what it really has to cap
  int (*modify_qp)(ibv::Qp*, ibv::QpAttr*, int mask) = nullptr;
  int (*destroy_qp)(ibv::Qp*) = nullptr;

  // libmlx5's, for NVIDIA's HCAs: null where it, or its release, has them not (rdma-core 54).
  bool (*mlx5_is_supported)(ibv::Device*) = nullptr;
  // ENODEV: the HCA has no Data Direct function. The path begins below /sys.
  int (*mlx5_data_direct_path)(ibv::Context*, char* path, std::size_t room) = nullptr;
  ibv::Mr* (*mlx5_reg_dmabuf_mr)(ibv::Pd*, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                                 int fd, int access, int mlx5_access) = nullptr;
};

// Of mlx5_access: through the Data Direct function.
inline constexpr int kMlx5AccessDataDirect = 1 << 0;

inline constexpr const char* kVerbsLibrary = "libibverbs.so.1";
inline constexpr const char* kMlx5Library = "libmlx5.so.1";

// Errc::unusable says which library or symbol is missing, and what to install. The library stays loaded to
// the end of the process: its providers know nothing of being unloaded.
Result<Verbs> load_verbs(const std::string& library = kVerbsLibrary);

// Functions of a library of rdma-core, by name and symbol version: the unversioned lookup would find those of
// the library's first version, whose layouts may be others.

class Symbols {
 public:
  // Errc::unusable says why it cannot be loaded, and what to install. The library stays loaded to the end of
  // the process: rdma-core's know nothing of being unloaded.
  static Result<Symbols> load(const std::string& library, const std::string& fix);

  // Null if an older library does not have it.
  template <class Function>
  void take_if_there(Function& function, const char* symbol, const char* version) {
    function = reinterpret_cast<Function>(find(symbol, version));
  }

  // Where it is missing, status() says so.
  template <class Function>
  void take(Function& function, const char* symbol, const char* version) {
    take_if_there(function, symbol, version);
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
