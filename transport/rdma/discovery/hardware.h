// Facts about a device's hardware, from sysfs and verbs: its PCI function, the speed of its links, and what
// its states mean for a user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/sysfs.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

struct PciFunction {
  std::string path;     // absolute, ends in the address, as NCCL expects it; empty if not a PCI device
  std::string address;  // "0000:3b:00.1"
  std::string physical_function;  // address of the physical function if this is a virtual one
  int numa_node = -1;             // -1: unknown
};

// `device` is a path below sysfs's root, like "class/infiniband/mlx5_0/device". A device that is not on the
// PCI bus may have a parent that is, as virtio's devices do; that parent is returned.
[[nodiscard]] PciFunction find_pci_function(const host::Sysfs& sysfs, const std::string& device);

// The speed of a link in Mbit/s has two sources. Verbs encode the speed of a lane and the number of lanes
// (InfiniBand Architecture 1.7, PortInfo: LinkWidthActive, LinkSpeedActive and its extensions) in 8 bits, so
// that a link faster than NDR is reported as NDR. The kernel's file `rate` is text, in which older kernels
// report unknown speeds as SDR. Each source errs towards less, so the larger value is right.

// Returns 0 for an unknown encoding.
[[nodiscard]] std::uint32_t link_speed_mbps(std::uint8_t active_width, std::uint8_t active_speed);

// Parses the text in sysfs, like "100 Gb/sec (4X EDR)". Returns 0 for any other text.
[[nodiscard]] std::uint32_t rate_mbps(std::string_view rate);

// The following functions return why an HCA or a port cannot be used and what to do about it, or an empty
// text.

// `error` is errno after ibv_open_device, `file` is the device file, like "/dev/infiniband/uverbs0".
[[nodiscard]] std::string open_fault(int error, const std::string& file);

[[nodiscard]] std::string transport_fault(ibv_transport_type type);
[[nodiscard]] std::string state_fault(ibv_port_state state);

// "ACTIVE".
[[nodiscard]] std::string_view to_string(ibv_port_state state);

}  // namespace tfabric::rdma
