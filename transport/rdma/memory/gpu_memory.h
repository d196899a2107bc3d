// Finds out whether an HCA can access GPU memory (GPUDirect RDMA), and how:
//
//   - a peer-memory module of the kernel (nvidia-peermem, nv_peer_mem) lets GPU addresses be registered as
//   any other;
//   - with DMA-BUF the GPU's driver exports the memory as a file, which the HCA's driver imports.
//
// Some of NVIDIA's HCAs have a second PCI function next to the GPU, for DMA-BUFs (Data Direct).
//
// DMA-BUF support is tested by asking the HCA's driver to register one. A peer-memory module can only be
// tested with GPU memory, so its presence is read from sysfs; registering such memory may still fail with an
// error that says why.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"
#include "host/sysfs.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

struct GpuMemory {
  bool peer_module = false;
  bool dmabuf = false;
  // The PCI function through which the HCA reaches the GPU without the CPU's root complex (Data Direct,
  // ConnectX-8), as an absolute path in sysfs. Empty if there is none. For DMA-BUFs only.
  std::string data_direct;
  std::string reason;  // "by DMA-BUF; no peer-memory module is loaded"

  [[nodiscard]] bool any() const { return peer_module || dmabuf; }
  // Bits of transport::MemoryKind, always including host memory. MemoryKind::cuda, memory that is registered
  // by its address, needs a peer-memory module. An HCA that takes DMA-BUFs is not enough: whether the GPU's
  // driver exports any is NCCL's to find out, and closed kernel modules of NVIDIA do not.
  [[nodiscard]] std::uint32_t memory_kinds() const;
};

// `wished` is rdma.gdr. With "on", GPU memory is reported as reachable whatever sysfs shows.
[[nodiscard]] GpuMemory probe_gpu_memory(const Verbs& verbs, ibv_context& context, const host::Sysfs& sysfs,
                                         config::Switch wished);

}  // namespace tfabric::rdma
