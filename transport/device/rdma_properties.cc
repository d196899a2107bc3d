#include "transport/device/rdma_properties.h"

#include <fmt/format.h>

namespace tfabric::device {
namespace {

using rdma::OpenPort;

constexpr int kDefaultSpeed = 10000;  // as NCCL assumes for a NIC of unknown speed

transport::DeviceProperties properties_of(const OpenPort& open) {
  const rdma::Hca& hca = open.hca();
  const rdma::Port port = open.port();
  transport::DeviceProperties properties;
  properties.name = open.name();
  properties.pci_path = hca.pci.path;
  if (open.function() == rdma::Function::data_direct) {
    properties.pci_path = hca.gpu_memory.data_direct;
    properties.force_flush = true;  // its writes do not take the path of the CPU's accesses to the GPU
  }
  properties.guid = hca.guid;
  properties.memory_kinds = hca.gpu_memory.memory_kinds();
  properties.speed_mbps = port.speed_mbps > 0 ? static_cast<int>(port.speed_mbps) : kDefaultSpeed;
  properties.port = port.number;
  properties.max_recvs = static_cast<int>(transport::kMaxGroupedReceives);
  properties.rail_id = port.rail_id;
  properties.plane_id = port.plane_id;
  return properties;
}

}  // namespace

std::string summary_of(const rdma::OpenPort& open) {
  const rdma::Port port = open.port();
  return fmt::format("{} ({}, {} Gbit/s, GID {} {}; GPU memory: {})", open.name(), to_string(port.link_layer),
                     port.speed_mbps / 1000.0, port.gid->index, rdma::to_string(port.gid->gid),
                     open.hca().gpu_memory.reason);
}

report::ShownRail shown(const rdma::OpenPort& open, const rdma::Port& port) {
  return {.name = open.name(),
          .kind = std::string(to_string(port.link_layer)),
          .device = port.netdev,
          .address = port.gid ? rdma::to_string(port.gid->gid) : std::string(),
          .mtu = port.mtu,
          .rehearsal = nullptr};
}

transport::DeviceProperties properties_of(const std::vector<const rdma::OpenPort*>& ports) {
  transport::DeviceProperties properties = properties_of(*ports.front());
  for (std::size_t i = 1; i < ports.size(); ++i) {
    const transport::DeviceProperties other = properties_of(*ports[i]);
    properties.name += "+" + other.name;
    properties.speed_mbps += other.speed_mbps;
    properties.memory_kinds &= other.memory_kinds;
  }
  return properties;
}

}  // namespace tfabric::device
