#include "transport/tcp/rails/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "config/address.h"
#include "host/pci.h"
#include "transport/tcp/rails/af_xdp_interface.h"

namespace tfabric::tcp {
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
  if (!found->has_link) {
    return fmt::format("the interface {} has no link: look for its cable, or the other end of it",
                       rail.device);
  }
  if (rail.mtu > found->mtu) {
    return fmt::format(
        "mtu is {0}, and that of the interface {1} is {2}: mtu = {2}, or ip link set {1} mtu {0}", rail.mtu,
        rail.device, found->mtu);
  }
  if (rail.kind == config::RailKind::af_xdp) {
    const std::string mtu = text_of(af_xdp_mtu_fault(*found));
    return mtu.empty() ? text_of(af_xdp_queue_fault(*found, rail, config.engines)) : mtu;
  }
  return {};
}

std::string function_fault(const config::Rail& rail, const config::Tcp& /*config*/, const HostView& host) {
  if (rail.kind != config::RailKind::pci) {
    return {};
  }
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
    for (const auto& look : {interface_fault, function_fault, address_fault, port_fault}) {
      if (const std::string fault = look(rail, config, host); !fault.empty()) {
        return Error{Errc::unusable, fmt::format("rail {}: {}", rail.name, fault)};
      }
    }
  }
  return {};
}

}  // namespace tfabric::tcp
