#include "transport/tcp/preflight.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "host/pci.h"
#include "transport/tcp/af_xdp_interface.h"

namespace tfabric::tcp {
namespace {

std::vector<net::Prefix> kernel_addresses() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) {
    return {};
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, freeifaddrs);
  std::vector<net::Prefix> addresses;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) {
      continue;
    }
    net::Prefix prefix;
    if (each->ifa_addr->sa_family == AF_INET) {
      sockaddr_in address{};
      std::memcpy(&address, each->ifa_addr, sizeof address);
      std::array<std::uint8_t, 4> octets{};
      std::memcpy(octets.data(), &address.sin_addr, octets.size());
      prefix.address = net::IpAddress::v4(octets);
    } else if (each->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 address{};
      std::memcpy(&address, each->ifa_addr, sizeof address);
      std::memcpy(prefix.address.bytes.data(), &address.sin6_addr, prefix.address.bytes.size());
    } else {
      continue;
    }
    addresses.push_back(prefix);
  }
  return addresses;
}

std::string text_of(const std::optional<InterfaceFault>& fault) {
  return fault ? fmt::format("{}: {}", fault->what, fault->mend) : std::string();
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
    return mtu.empty() ? text_of(af_xdp_queue_fault(*found, config.engines)) : mtu;
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
  constexpr const char* kMend = "`tfabric setup`, or bind it to vfio-pci";
  if (function->driver.empty()) {
    return fmt::format("no driver has {}: {}", rail.device, kMend);
  }
  if (function->driver != "vfio-pci" && !host::goes_without_iommu(*function)) {
    return fmt::format("{} belongs to the kernel's driver {}: {}", rail.device, function->driver, kMend);
  }
  return {};
}

std::string address_fault(const config::Rail& rail, const config::Tcp& /*config*/, const HostView& host) {
  for (const std::string& text : rail.addresses) {
    const auto own = net::parse_prefix(text);
    if (own && std::any_of(host.addresses.begin(), host.addresses.end(),
                           [&](const net::Prefix& each) { return each.address == own->address; })) {
      return fmt::format(
          "an interface of the kernel's has the address {} too, and would reset its connections: "
          "take it away from the one or the other",
          net::to_string(own->address));
    }
  }
  return {};
}

}  // namespace

HostView view_of_host() {
  return {.sysfs = host::Sysfs(), .interfaces = host::interfaces(), .addresses = kernel_addresses()};
}

Status check_rails(const config::Tcp& config, const HostView& host) {
  for (const config::Rail& rail : config.rails) {
    for (const auto& look : {interface_fault, function_fault, address_fault}) {
      if (const std::string fault = look(rail, config, host); !fault.empty()) {
        return Error{Errc::unusable, fmt::format("rail {}: {}", rail.name, fault)};
      }
    }
  }
  return {};
}

}  // namespace tfabric::tcp
