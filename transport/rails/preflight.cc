#include "transport/rails/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "config/address.h"
#include "host/pci.h"
#include "transport/rails/device_plan.h"
#include "transport/rails/kernel_rail.h"
#include "transport/rails/rail_kinds.h"

namespace tfabric::rails {

std::optional<InterfaceFault> ethernet_fault(const host::Interface& interface, const config::Rail& rail) {
  if (interface.ethernet || config::is_kernel_stack(rail)) {
    return std::nullopt;
  }
  return InterfaceFault{
      .what =
          fmt::format("the interface {} carries no Ethernet frames (loopback, a tunnel, IP over InfiniBand), "
                      "of which tfabric's own TCP makes its packets",
                      interface.name),
      .fix = "kind = \"kernel\" for the rail, or another interface as its device"};
}

std::optional<InterfaceFault> af_xdp_mtu_fault(const host::Interface& interface) {
  if (interface.mtu <= config::kMostAfXdpMtu) {
    return std::nullopt;
  }
  return InterfaceFault{
      .what = fmt::format("the interface {} has an MTU of {}, and AF_XDP takes packets of {} bytes at most",
                          interface.name, interface.mtu, config::kMostAfXdpMtu),
      .fix = fmt::format("ip link set {} mtu {}", interface.name, config::kMostAfXdpMtu)};
}

namespace {

std::optional<InterfaceFault> subset_fault(const host::Interface& interface, const config::QueueRange& queues,
                                           std::uint32_t engines) {
  if (queues.end() > interface.channels.combined) {
    return InterfaceFault{.what = fmt::format("the rail has queue {}, and the interface {} has {} in all",
                                              queues.end() - 1, interface.name, interface.channels.combined),
                          .fix = fmt::format("ethtool -L {} combined {}; or choose other queues",
                                             interface.name, queues.end())};
  }
  if (queues.count != engines) {
    return InterfaceFault{
        .what = fmt::format("the rail has {} queue(s) of the interface {}, and {} engine(s) (tcp.engines) "
                            "take one each",
                            queues.count, interface.name, engines),
        .fix = fmt::format("tcp.engines = {}, or as many queues as engines", queues.count)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<InterfaceFault> af_xdp_queue_fault(const host::Interface& interface, const config::Rail& rail,
                                                 std::uint32_t engines) {
  if (!rail.queues.whole()) {
    return subset_fault(interface, rail.queues, engines);
  }
  const host::Channels& channels = interface.channels;
  if (channels.receiving() <= engines) {
    return std::nullopt;
  }
  const std::string what = fmt::format(
      "the interface {} receives by {} queues, and {} engine(s) (tcp.engines) take as many of them",
      interface.name, channels.receiving(), engines);
  // DPDK takes pairs of queues, or the first receive queue of an interface without pairs.
  if (channels.combined == 0) {
    return InterfaceFault{.what = what, .fix = fmt::format("ethtool -L {} rx 1", interface.name)};
  }
  return InterfaceFault{.what = what,
                        .fix = fmt::format("ethtool -L {} combined {}{}; or tcp.engines = {}", interface.name,
                                           engines, channels.receive > 0 ? " rx 0" : "", channels.combined)};
}

std::optional<InterfaceFault> af_xdp_address_fault(const config::Rail& rail,
                                                   std::span<const host::LocalAddress> addresses) {
  for (const std::string& text : rail.addresses) {
    const auto own = config::parse_prefixed(text);
    if (!own) {
      continue;
    }
    const bool has_it = std::any_of(addresses.begin(), addresses.end(), [&](const auto& each) {
      return each.netdev == rail.device && each.address == config::mapped(own->bytes);
    });
    if (!has_it) {
      return InterfaceFault{.what = fmt::format("the interface {} does not have the address {}, which a rail "
                                                "with `queues` shares with the kernel",
                                                rail.device, text),
                            .fix = fmt::format("ip address add {} dev {}", text, rail.device)};
    }
  }
  return std::nullopt;
}

std::optional<InterfaceFault> af_xdp_port_fault(const config::PortRange& ports,
                                                const host::KernelPorts& kernel) {
  if (!kernel.may_give_of(ports)) {
    return std::nullopt;
  }
  return InterfaceFault{
      .what = fmt::format("the kernel gives TCP ports of {0}-{1} (tcp.local_ports) to connections of its "
                          "own, whose segments would come to this rail",
                          ports.first, ports.last),
      .fix = fmt::format("sysctl -w net.ipv4.ip_local_reserved_ports={}-{}, and in a file of /etc/sysctl.d",
                         ports.first, ports.last)};
}

namespace {

std::string text_of(const std::optional<InterfaceFault>& fault) {
  return fault ? fmt::format("{}: {}", fault->what, fault->fix) : std::string();
}

std::string interface_fault(const config::Rail& rail, const config::Tcp& config, const HostView& host) {
  const auto found = std::find_if(host.interfaces.begin(), host.interfaces.end(),
                                  [&](const auto& each) { return each.name == rail.device; });
  if (!config::is_kernel_interface(rail) || found == host.interfaces.end()) {
    return {};
  }
  if (!found->up) {
    return fmt::format("the interface {0} is down: ip link set {0} up", rail.device);
  }
  if (std::string fault = text_of(ethernet_fault(*found, rail)); !fault.empty()) {
    return fault;
  }
  if (rail.mtu > found->mtu) {
    return fmt::format(
        "mtu is {0}, and that of the interface {1} is {2}: mtu = {2}, or ip link set {1} mtu {0}", rail.mtu,
        rail.device, found->mtu);
  }
  if (traits_of(rail.kind).needs_engine_per_queue) {
    const std::string mtu = text_of(af_xdp_mtu_fault(*found));
    return mtu.empty() ? text_of(af_xdp_queue_fault(*found, rail, config.engines)) : mtu;
  }
  return {};
}

std::string function_fault(const config::Rail& rail, const HostView& host) {
  const auto function = host::pci_function(host.sysfs, rail.device);
  if (!function) {
    return fmt::format("this host has no PCI function {} (`lspci -D` lists them)", rail.device);
  }
  constexpr const char* kFix = "`tfabric setup`, or bind it to vfio-pci";
  if (function->driver.empty()) {
    return fmt::format("no driver has {}: {}", rail.device, kFix);
  }
  if (function->driver != "vfio-pci" && !host::goes_without_iommu(*function)) {
    return fmt::format("{} belongs to the kernel's driver {}: {}", rail.device, function->driver, kFix);
  }
  return {};
}

std::string address_fault(const config::Rail& rail, const config::Tcp& /*config*/, const HostView& host) {
  if (config::is_kernel_stack(rail)) {
    const auto networks = kernel_networks(rail, host.addresses);
    return networks ? std::string() : networks.error().message;
  }
  if (config::has_queue_subset(rail)) {
    return text_of(af_xdp_address_fault(rail, host.addresses));
  }
  for (const std::string& text : rail.addresses) {
    const auto own = config::parse_prefixed(text);
    if (own && std::any_of(host.addresses.begin(), host.addresses.end(),
                           [&](const auto& each) { return each.address == config::mapped(own->bytes); })) {
      return fmt::format(
          "an interface of the kernel's has the address {} too, and would reset its connections: "
          "take it away from the one or the other",
          text.substr(0, text.find('/')));
    }
  }
  return {};
}

std::string port_fault(const config::Rail& rail, const config::Tcp& config, const HostView& host) {
  return config::has_queue_subset(rail) ? text_of(af_xdp_port_fault(config.local_ports, host.ports))
                                        : std::string();
}

}  // namespace

HostView view_of_host() {
  return {.sysfs = host::Sysfs(),
          .interfaces = host::interfaces(),
          .addresses = host::local_addresses(),
          .ports = host::kernel_ports(host::Sysfs("/proc"))};
}

Status check_rails(const config::Tcp& config, const HostView& host) {
  for (const config::Rail& rail : config.rails) {
    for (const auto& fault_of : {interface_fault, address_fault, port_fault}) {
      if (const std::string fault = fault_of(rail, config, host); !fault.empty()) {
        return Error{Errc::unusable, fmt::format("rail {}: {}", rail.name, fault)};
      }
    }
  }
  return {};
}

const transport::RailFault* find_fault(const std::string& rail,
                                       std::span<const transport::RailFault> faults) {
  const auto found =
      std::find_if(faults.begin(), faults.end(), [&](const auto& fault) { return fault.rail == rail; });
  return found == faults.end() ? nullptr : &*found;
}

std::vector<transport::RailFault> missing_nics(const config::Tcp& config, const HostView& host) {
  std::vector<transport::RailFault> missing;
  for (const config::Rail& rail : config.rails) {
    if (config::row_of(rail.kind).device != config::RailKindRow::pci_function) {
      continue;
    }
    if (std::string fault = function_fault(rail, host); !fault.empty()) {
      missing.push_back({.kind = transport::RailFault::Kind::missing,
                         .rail = rail.name,
                         .what = std::move(fault),
                         .fix = {}});
    }
  }
  return missing;
}

// Either one device has all rails, or each rail is a device's only one.
Status check_links(const config::Config& config, std::span<const host::Interface> interfaces,
                   const std::vector<host::LocalAddress>& addresses,
                   std::span<const transport::RailFault> missing) {
  if (!config.required && has_any_lifeboat(config, addresses)) {
    return {};
  }
  bool any = false;
  Status first;
  for (const config::Rail& rail : config.tcp.rails) {
    const auto found = std::find_if(interfaces.begin(), interfaces.end(),
                                    [&](const auto& each) { return each.name == rail.device; });
    std::string fault;
    if (const transport::RailFault* gone = find_fault(rail.name, missing); gone != nullptr) {
      fault = gone->what;
    } else if (config::is_kernel_interface(rail) && found != interfaces.end() && !found->has_link) {
      fault = fmt::format("the interface {} has no link: look for its cable, or the other end of it",
                          rail.device);
    }
    any = any || fault.empty();
    if (!fault.empty() && first.ok()) {
      first = Error{Errc::unusable, fmt::format("rail {}: {}", rail.name, fault)};
    }
  }
  return any && bonds(config) ? Status() : first;
}

}  // namespace tfabric::rails
