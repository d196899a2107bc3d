#include "transport/rdma/verbs/verbs.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string_view>

namespace tfabric::rdma {
namespace {

constexpr const char* kMend = "install rdma-core (Debian: libibverbs1 ibverbs-providers)";

class Loader {
 public:
  Loader(void* library, std::string_view name) : library_(library), name_(name) {}

  // Null if an older library does not have it.
  template <class Function>
  void load_if_there(Function& function, const char* symbol, const char* version) {
    function = reinterpret_cast<Function>(dlvsym(library_, symbol, version));
  }

  template <class Function>
  void load(Function& function, const char* symbol, const char* version = "IBVERBS_1.1") {
    load_if_there(function, symbol, version);
    if (function == nullptr && status_) {
      status_ = Error{Errc::unusable,
                      fmt::format("{} has no {}, version {}: it is too old or none of rdma-core's; {}", name_,
                                  symbol, version, kMend)};
    }
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  void* library_;
  std::string_view name_;
  Status status_;
};

}  // namespace

Result<Verbs> load_verbs(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* why = dlerror();
    return Error{Errc::unusable, fmt::format("{} cannot be loaded: {}; {}", library,
                                             why == nullptr ? "the linker does not say why" : why, kMend)};
  }
  Verbs verbs;
  Loader loader(handle, library);
  loader.load(verbs.get_device_list, "ibv_get_device_list");
  loader.load(verbs.free_device_list, "ibv_free_device_list");
  loader.load(verbs.open_device, "ibv_open_device");
  loader.load(verbs.close_device, "ibv_close_device");
  loader.load(verbs.query_device, "ibv_query_device");
  loader.load(verbs.query_port, "ibv_query_port");
  loader.load(verbs.query_gid, "ibv_query_gid");
  loader.load(verbs.fork_init, "ibv_fork_init");
  loader.load(verbs.get_async_event, "ibv_get_async_event");
  loader.load(verbs.ack_async_event, "ibv_ack_async_event");
  loader.load(verbs.alloc_pd, "ibv_alloc_pd");
  loader.load(verbs.dealloc_pd, "ibv_dealloc_pd");
  loader.load(verbs.reg_mr, "ibv_reg_mr");
  loader.load_if_there(verbs.reg_mr_iova2, "ibv_reg_mr_iova2", "IBVERBS_1.8");
  loader.load_if_there(verbs.reg_dmabuf_mr, "ibv_reg_dmabuf_mr", "IBVERBS_1.12");
  loader.load(verbs.dereg_mr, "ibv_dereg_mr");
  loader.load(verbs.create_cq, "ibv_create_cq");
  loader.load(verbs.destroy_cq, "ibv_destroy_cq");
  loader.load(verbs.create_qp, "ibv_create_qp");
  loader.load(verbs.modify_qp, "ibv_modify_qp");
  loader.load(verbs.destroy_qp, "ibv_destroy_qp");
  if (!loader.status()) {
    return loader.status().error();
  }
  return verbs;
}

}  // namespace tfabric::rdma
