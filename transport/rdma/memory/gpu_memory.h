// Whether an HCA can reach GPU memory (GPUDirect RDMA), and by which way.
//
//   - a peer-memory module of the kernel (nvidia-peermem, nv_peer_mem): a GPU address is registered like any;
//   - DMA-BUF: the GPU's driver exports the memory as a file, which the HCA's driver takes.
//
// An HCA of NVIDIA's may have a second PCI function next to the GPU, for DMA-BUFs (Data Direct).
//
// What can be tried is tried: the HCA's driver is asked to register a DMA-BUF. Whether a module is there is
// read from sysfs, as it can only be tried with memory of a GPU; that registration itself may still fail, and
// says why.
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
  // The PCI function by which the HCA reaches the GPU without the CPU's root complex (Data Direct;
  // ConnectX-8), an absolute path in sysfs; empty: it has none. DMA-BUFs only.
  std::string data_direct;
  std::string reason;  // "by DMA-BUF; no peer-memory module is loaded"

  [[nodiscard]] bool any() const { return peer_module || dmabuf; }
  // Bits of transport::MemoryKind, host memory's among them.
  [[nodiscard]] std::uint32_t memory_kinds() const;
};

// `wished` is rdma.gdr: with "on" GPU memory is said to be reachable whatever sysfs shows.
[[nodiscard]] GpuMemory probe_gpu_memory(const Verbs& verbs, ibv::Context& context, const host::Sysfs& sysfs,
                                         config::Switch wished);

}  // namespace tfabric::rdma
