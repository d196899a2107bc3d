#include "transport/rdma/memory/gpu_memory.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <climits>

#include "transport/rdma/verbs/owners.h"
#include "transport/transport.h"

namespace tfabric::rdma {
namespace {

struct Module {
  const char* name;
  const char* file;  // exists while the module is loaded
};
// The first two are where peer-memory clients register with the HCA's driver (MLNX_OFED).
constexpr std::array<Module, 3> kModules{{{"nv_peer_mem", "kernel/mm/memory_peers/nv_mem/version"},
                                          {"nvidia-peermem", "kernel/mm/memory_peers/nv_mem_nc/version"},
                                          {"nvidia-peermem", "module/nvidia_peermem/version"}}};

std::string module_in(const host::Sysfs& sysfs) {
  for (const Module& module : kModules) {
    if (sysfs.read(module.file)) {
      return module.name;
    }
  }
  return {};
}

// Returns why the driver supports no DMA-BUF, or nothing if it does. The invalid file descriptor makes a
// driver with support fail with another error.
std::string dmabuf_fault(const Verbs& verbs, ibv_pd& pd) {
  if (verbs.reg_dmabuf_mr == nullptr) {
    return "libibverbs is older than rdma-core 34";
  }
  constexpr int kNoFile = -1;
  errno = 0;
  ibv_mr* mr = verbs.reg_dmabuf_mr(&pd, 0, 0, 0, kNoFile, 0);
  const int error = errno;
  if (mr != nullptr) {
    static_cast<void>(verbs.dereg_mr(mr));
    return {};
  }
  if (error == EOPNOTSUPP || error == EPROTONOSUPPORT || error == ENOSYS) {
    return "the HCA's driver takes no DMA-BUF";
  }
  return {};
}

std::string data_direct_path(const Verbs& verbs, ibv_context& context) {
  std::array<char, PATH_MAX> path{};
  if (verbs.mlx5_is_supported == nullptr || verbs.mlx5_data_direct_path == nullptr ||
      verbs.mlx5_reg_dmabuf_mr == nullptr || !verbs.mlx5_is_supported(context.device) ||
      verbs.mlx5_data_direct_path(&context, path.data(), path.size() - 1) != 0) {
    return {};
  }
  return std::string("/sys") + path.data();
}

}  // namespace

std::uint32_t GpuMemory::memory_kinds() const {
  using transport::MemoryKind;
  std::uint32_t kinds = static_cast<std::uint32_t>(MemoryKind::host);
  kinds |= peer_module ? static_cast<std::uint32_t>(MemoryKind::cuda) : 0u;
  kinds |= dmabuf ? static_cast<std::uint32_t>(MemoryKind::dmabuf) : 0u;
  return kinds;
}

GpuMemory probe_gpu_memory(const Verbs& verbs, ibv_context& context, const host::Sysfs& sysfs,
                           config::Switch wished) {
  if (wished == config::Switch::off) {
    return {.reason = "switched off by rdma.gdr"};
  }
  const std::string module = module_in(sysfs);
  const auto pd = allocate_protection_domain(verbs, context);
  const std::string fault = pd ? dmabuf_fault(verbs, **pd) : pd.error().message;
  GpuMemory found{.peer_module = !module.empty(), .dmabuf = fault.empty()};
  if (wished == config::Switch::on) {
    found.peer_module = true;
  }
  if (found.dmabuf) {
    found.data_direct = data_direct_path(verbs, context);
  }
  const std::string by_module = !module.empty() ? "by " + module
                                : wished == config::Switch::on
                                    ? "claimed by rdma.gdr = \"on\""
                                    : "no peer-memory module (nvidia-peermem) is loaded";
  found.reason = fmt::format("{}{}; {}", found.dmabuf ? "by DMA-BUF" : fault,
                             found.data_direct.empty() ? "" : ", also by Data Direct", by_module);
  return found;
}

}  // namespace tfabric::rdma
