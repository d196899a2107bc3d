// The RDMA section of `tfabric info`.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "tools/info.h"
#include "transport/rdma/discovery/hardware.h"
#include "transport/rdma/ports/port_plan.h"

namespace tfabric::tools {
namespace {

std::string verdict(const std::string& excluded) {
  return excluded.empty() ? "used" : "left out: " + excluded;
}

std::string text_of(const rdma::GidEntry& entry, const rdma::Port& port) {
  const bool chosen = port.gid && port.gid->index == entry.index;
  return fmt::format("      GID {} {}, {}{}{}{}\n", entry.index, rdma::to_string(entry.gid),
                     rdma::to_string(entry.type), entry.netdev.empty() ? "" : ", " + entry.netdev,
                     entry.here ? "" : " (not in this network namespace)",
                     chosen ? "; chosen: " + port.gid->reason : "");
}

// The properties that only InfiniBand or only Ethernet has.
std::string link_text(const rdma::Port& port) {
  std::string text;
  if (port.link_layer == rdma::LinkLayer::infiniband) {
    text += fmt::format(", LID {}", port.lid);
  }
  if (!port.netdev.empty()) {
    text += ", " + port.netdev;
  }
  if (!port.bond_members.empty()) {
    text += fmt::format(" (bond of {})", fmt::join(port.bond_members, " "));
  }
  return text;
}

std::string text_of(const rdma::Port& port) {
  std::string text = fmt::format("    port {}: ", port.number);
  if (port.state != IBV_PORT_NOP) {
    text += fmt::format("{}, {}, {} Gbit/s, MTU {}{}; ", rdma::to_string(port.link_layer),
                        rdma::to_string(port.state), port.speed_mbps / 1000.0, port.mtu, link_text(port));
  }
  text += verdict(port.excluded) + "\n";
  for (const rdma::GidEntry& entry : port.gids) {
    text += text_of(entry, port);
  }
  return text;
}

std::string text_of(const rdma::GpuMemory& gpu_memory) {
  return fmt::format("{} ({})", gpu_memory.any() ? "yes" : "no", gpu_memory.reason);
}

std::string text_of(const rdma::Hca& hca) {
  const rdma::PciFunction& pci = hca.pci;
  std::string text = fmt::format("  {}: PCI {}", hca.name, pci.address.empty() ? "none" : pci.address);
  if (!pci.physical_function.empty()) {
    text += " (virtual function of " + pci.physical_function + ")";
  }
  if (pci.numa_node >= 0) {
    text += fmt::format(", NUMA node {}", pci.numa_node);
  }
  if (hca.context != nullptr) {
    text += fmt::format(", guid {:016x}", hca.guid);
  }
  if (!hca.gpu_memory.reason.empty()) {
    text += fmt::format(", GPU memory: {}", text_of(hca.gpu_memory));
  }
  text += hca.excluded.empty() ? "\n" : "; " + verdict(hca.excluded) + "\n";
  for (const rdma::Port& port : hca.ports) {
    text += text_of(port);
  }
  return text;
}

nlohmann::json json_of(const rdma::Port& port) {
  nlohmann::json out = {{"port", port.number},
                        {"used", port.excluded.empty()},
                        {"link_layer", rdma::to_string(port.link_layer)},
                        {"state", rdma::to_string(port.state)},
                        {"speed_mbps", port.speed_mbps},
                        {"mtu", port.mtu},
                        {"lid", port.lid},
                        {"netdev", port.netdev},
                        {"bond_members", port.bond_members},
                        {"rail_id", port.rail_id},
                        {"plane_id", port.plane_id},
                        {"gids", nlohmann::json::array()}};
  if (!port.excluded.empty()) {
    out["left_out"] = port.excluded;
  }
  for (const rdma::GidEntry& entry : port.gids) {
    out["gids"].push_back({{"index", entry.index},
                           {"gid", rdma::to_string(entry.gid)},
                           {"type", rdma::to_string(entry.type)},
                           {"netdev", entry.netdev},
                           {"in_network_namespace", entry.here}});
  }
  if (port.gid) {
    out["gid"] = {{"index", port.gid->index}, {"reason", port.gid->reason}};
  }
  return out;
}

nlohmann::json json_of(const rdma::Hca& hca) {
  nlohmann::json out = {{"name", hca.name},
                        {"device_file", hca.device_file},
                        {"guid", fmt::format("{:016x}", hca.guid)},
                        {"pci_path", hca.pci.path},
                        {"physical_function", hca.pci.physical_function},
                        {"numa_node", hca.pci.numa_node},
                        {"gpu_memory",
                         {{"peer_module", hca.gpu_memory.peer_module},
                          {"dmabuf", hca.gpu_memory.dmabuf},
                          {"data_direct", hca.gpu_memory.data_direct},
                          {"reason", hca.gpu_memory.reason}}},
                        {"ports", nlohmann::json::array()}};
  if (!hca.excluded.empty()) {
    out["left_out"] = hca.excluded;
  }
  for (const rdma::Port& port : hca.ports) {
    out["ports"].push_back(json_of(port));
  }
  return out;
}

// Returns what `show` makes of the ports of this host. They are open only during the call.
template <class Show>
auto look(const Result<config::Config>& config, const Show& show) {
  const Result<rdma::Verbs> verbs =
      config ? rdma::load_verbs() : Error{Errc::unusable, "not looked for, since the configuration is wrong"};
  if (!verbs) {
    return show(rdma::Discovery{.hcas = {}, .usable = verbs.error()}, config::Config());
  }
  const rdma::Host host{.sysfs = host::Sysfs(), .addresses = host::local_addresses()};
  return show(rdma::discover(*verbs, host, config->rdma), *config);
}

}  // namespace

std::string to_text(const rdma::Discovery& found, const config::Config& config) {
  std::string text =
      found.usable ? "RDMA: usable\n" : fmt::format("RDMA: not usable: {}\n", found.usable.error().message);
  for (const rdma::Hca& hca : found.hcas) {
    text += text_of(hca);
  }
  for (const rdma::NamedDevice& device : rdma::devices_of(found.hcas, config)) {
    std::string reserve = fmt::format("{}", fmt::join(device.reserve, " and "));
    if (!device.tcp.empty()) {
      reserve +=
          fmt::format("{}TCP over {}", reserve.empty() ? "" : ", then ", fmt::join(device.tcp, " and "));
    }
    text += fmt::format("  device {}: {}{}the kernel's connection as a life-boat\n",
                        fmt::join(device.own, "+"), reserve, reserve.empty() ? "" : " in reserve, ");
  }
  return text;
}

nlohmann::json to_json(const rdma::Discovery& found, const config::Config& config) {
  nlohmann::json out = {{"usable", found.usable.ok()}, {"hcas", nlohmann::json::array()}};
  if (!found.usable) {
    out["reason"] = found.usable.error().message;
  }
  for (const rdma::Hca& hca : found.hcas) {
    out["hcas"].push_back(json_of(hca));
  }
  out["devices"] = nlohmann::json::array();
  for (const rdma::NamedDevice& device : rdma::devices_of(found.hcas, config)) {
    out["devices"].push_back({{"ports", device.own}, {"reserve", device.reserve}, {"tcp", device.tcp}});
  }
  return out;
}

std::string rdma_text(const Result<config::Config>& config) { return look(config, to_text); }

nlohmann::json rdma_json(const Result<config::Config>& config) { return look(config, to_json); }

}  // namespace tfabric::tools
