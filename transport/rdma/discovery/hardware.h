// The PCI function behind a device, from sysfs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/sysfs.h"
#include "transport/rdma/verbs/abi.h"

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

// How fast a port's link is, in Mbit/s.
//
// Two sources. Verbs give an encoding of the speed of a lane and one of their number (InfiniBand Architecture
// 1.7, PortInfo: LinkWidthActive, LinkSpeedActive and its extensions), in 8 bits: a faster link than NDR is
// told as NDR. The kernel's file `rate` is text, and an older kernel says SDR for what it does not know.
// Whichever does not know says less, so the larger is right.

// 0: an unknown encoding.
[[nodiscard]] std::uint32_t link_speed_mbps(std::uint8_t active_width, std::uint8_t active_speed);

// Of the text in sysfs, like "100 Gb/sec (4X EDR)"; 0: something else.
[[nodiscard]] std::uint32_t rate_mbps(std::string_view rate);

// Why an HCA or a port cannot be used, in words, and what to do about it.

// `error` is errno after ibv_open_device; `file` is the device's, like "/dev/infiniband/uverbs0".
[[nodiscard]] std::string open_fault(int error, const std::string& file);

// Empty if there is none.
[[nodiscard]] std::string transport_fault(ibv::TransportType type);
[[nodiscard]] std::string state_fault(ibv::PortState state);

// "ACTIVE".
[[nodiscard]] std::string_view to_string(ibv::PortState state);

}  // namespace tfabric::rdma
