// The PCI function behind a device, from sysfs.
#pragma once

#include <string>

#include "host/sysfs.h"

namespace tfabric::rdma {

struct PciFunction {
  std::string path;               // as NCCL wants it: absolute, ends in the address; empty: no PCI device
  std::string address;            // "0000:3b:00.1"
  std::string physical_function;  // the address of the one whose virtual function it is; empty: it is none
  int numa_node = -1;             // -1: unknown
};

// `device` is a path below sysfs's root, like "class/infiniband/mlx5_0/device". What is not on PCI itself may
// have a parent that is, as virtio's devices do.
[[nodiscard]] PciFunction find_pci_function(const host::Sysfs& sysfs, const std::string& device);

}  // namespace tfabric::rdma
