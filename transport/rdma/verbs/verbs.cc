#include "transport/rdma/verbs/verbs.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tfabric::rdma {

namespace {

void take_mlx5(Verbs& verbs) {
  auto symbols = Symbols::load(kMlx5Library, {});
  if (symbols) {
    symbols->take_optional(verbs.mlx5_is_supported, "mlx5dv_is_supported", "MLX5_1.8");
    symbols->take_optional(verbs.mlx5_data_direct_path, "mlx5dv_get_data_direct_sysfs_path", "MLX5_1.25");
    symbols->take_optional(verbs.mlx5_reg_dmabuf_mr, "mlx5dv_reg_dmabuf_mr", "MLX5_1.25");
  }
}

}  // namespace

Result<Verbs> load_verbs(const std::string& library) {
  auto symbols = Symbols::load(library, "install rdma-core (Debian: libibverbs1 ibverbs-providers)");
  if (!symbols) {
    return symbols.error();
  }
  Verbs verbs;
  const auto take = [&](auto& function, const char* symbol) {
    symbols->take(function, symbol, "IBVERBS_1.1");
  };
  take(verbs.get_device_list, "ibv_get_device_list");
  take(verbs.free_device_list, "ibv_free_device_list");
  take(verbs.open_device, "ibv_open_device");
  take(verbs.close_device, "ibv_close_device");
  take(verbs.query_device, "ibv_query_device");
  take(verbs.query_port, "ibv_query_port");
  take(verbs.query_gid, "ibv_query_gid");
  take(verbs.fork_init, "ibv_fork_init");
  take(verbs.get_async_event, "ibv_get_async_event");
  take(verbs.ack_async_event, "ibv_ack_async_event");
  take(verbs.alloc_pd, "ibv_alloc_pd");
  take(verbs.dealloc_pd, "ibv_dealloc_pd");
  take(verbs.reg_mr, "ibv_reg_mr");
  symbols->take_optional(verbs.reg_mr_iova2, "ibv_reg_mr_iova2", "IBVERBS_1.8");
  symbols->take_optional(verbs.reg_dmabuf_mr, "ibv_reg_dmabuf_mr", "IBVERBS_1.12");
  take(verbs.dereg_mr, "ibv_dereg_mr");
  take(verbs.create_cq, "ibv_create_cq");
  take(verbs.destroy_cq, "ibv_destroy_cq");
  take(verbs.create_qp, "ibv_create_qp");
  take(verbs.modify_qp, "ibv_modify_qp");
  take(verbs.destroy_qp, "ibv_destroy_qp");
  if (!symbols->status()) {
    return symbols->status().error();
  }
  take_mlx5(verbs);
  return verbs;
}

Result<Symbols> Symbols::load(const std::string& library, const std::string& fix) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* why = dlerror();
    return Error{Errc::unusable, fmt::format("{} cannot be loaded: {}; {}", library,
                                             why == nullptr ? "the linker does not say why" : why, fix)};
  }
  return Symbols(handle, library, fix);
}

void* Symbols::find(const char* symbol, const char* version) const {
  return dlvsym(library_, symbol, version);
}

void Symbols::lacks(const char* symbol, const char* version) {
  if (status_) {
    status_ = Error{Errc::unusable, fmt::format("{} has no {}, version {}: it is too old or not one of "
                                                "rdma-core's; {}",
                                                name_, symbol, version, fix_)};
  }
}

}  // namespace tfabric::rdma
