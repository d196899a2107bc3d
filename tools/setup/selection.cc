// Which NICs become rails: select().
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "tools/setup/plan.h"

namespace tfabric::setup {
namespace {

// PCI vendors whose NICs the library has drivers for (cmake/dpdk.cmake): Intel, virtio, ENA, gve, vmxnet3.
constexpr std::array<std::uint16_t, 5> kVendors{0x8086, 0x1af4, 0x1d0f, 0x1ae0, 0x15ad};

bool is_named(const std::vector<std::string>& names, const std::string& address,
              const std::string& interface) {
  return std::find(names.begin(), names.end(), address) != names.end() ||
         (!interface.empty() && std::find(names.begin(), names.end(), interface) != names.end());
}

std::string interface_of(const Facts& facts, const host::PciFunction& function) {
  if (const auto known = facts.recorded.find(function.address); known != facts.recorded.end()) {
    return known->second.name;
  }
  return function.interfaces.empty() ? std::string() : function.interfaces.front();
}

// Returns another use of the interface that would end with it; empty if there is none.
std::string other_use(const Network& network, const Link& link) {
  if (!link.master.empty()) {
    return "is part of " + link.master;
  }
  for (const Link& other : network.links) {
    if (other.lower == link.name) {
      return fmt::format("carries {}", other.name);
    }
  }
  for (const Route& route : network.routes) {
    if (route.devices.size() > 1 &&
        std::find(route.devices.begin(), route.devices.end(), link.name) != route.devices.end()) {
      return fmt::format("is one of several next hops to {}, and that route would be lost",
                         route.destination);
    }
  }
  return {};
}

// Returns why a function that is under the kernel cannot become a rail; empty if it can.
std::string obstacle(const Facts& facts, const host::PciFunction& function,
                     const std::map<std::string, std::string>& reasons) {
  for (const std::string& interface : function.interfaces) {
    if (const auto reason = reasons.find(interface); reason != reasons.end()) {
      return reason->second;
    }
  }
  if (std::find(kVendors.begin(), kVendors.end(), function.vendor) == kVendors.end()) {
    return fmt::format("is a NIC of vendor {:04x}, for which this build has no driver", function.vendor);
  }
  if (function.interfaces.size() != 1) {
    return function.interfaces.empty()
               ? fmt::format(
                     "has no interface in the kernel ({}), so its addresses are not known",
                     function.driver.empty() ? "it has no driver" : "its driver is " + function.driver)
               : "has several interfaces, which can be taken only together";
  }
  const Link* link = facts.network.find(function.interfaces.front());
  if (link == nullptr) {
    return "is in another network namespace";
  }
  if (std::string use = other_use(facts.network, *link); !use.empty()) {
    return use;
  }
  return usable_addresses(*link).empty() ? "has no address, and a rail needs one" : "";
}

Eni make_eni(const Facts& facts, const host::PciFunction& function) {
  if (const auto known = facts.recorded.find(function.address); known != facts.recorded.end()) {
    return known->second;
  }
  const Link& link = *facts.network.find(function.interfaces.front());
  return {.address = function.address,
          .name = link.name,
          .mac = link.mac,
          .driver = function.driver,
          .addresses = usable_addresses(link),
          .gateway = gateway_of(facts.network, link, /*v6=*/false),
          .gateway6 = gateway_of(facts.network, link, /*v6=*/true),
          .mtu = link.mtu,
          .numa_node = function.numa_node};
}

// VFIO assigns only whole IOMMU groups.
Status check_groups(const Facts& facts, const Selection& selection) {
  for (const Eni& eni : selection.enis) {
    const auto neighbours = facts.neighbours.find(eni.address);
    for (const Neighbour& other :
         neighbours == facts.neighbours.end() ? std::vector<Neighbour>() : neighbours->second) {
      if (std::none_of(selection.enis.begin(), selection.enis.end(),
                       [&](const Eni& leaving) { return leaving.address == other.address; })) {
        return Error{
            Errc::unusable,
            fmt::format(
                "{} ({}) shares its IOMMU group with {}, whose driver is {}, and VFIO assigns only whole "
                "groups: unbind that device from its driver first, or exclude this one by --exclude {}",
                eni.address, eni.name, other.address, other.driver, eni.address)};
      }
    }
  }
  return {};
}

Status check_names(const Facts& facts, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const host::PciFunction& function : facts.functions) {
    known.push_back(fmt::format("{} ({})", function.address, interface_of(facts, function)));
  }
  for (const std::string& name : names) {
    if (std::none_of(facts.functions.begin(), facts.functions.end(), [&](const host::PciFunction& function) {
          return is_named({name}, function.address, interface_of(facts, function));
        })) {
      return Error{Errc::invalid_usage,
                   fmt::format("{} is not an Ethernet NIC on this host's PCI bus; there {}", name,
                               known.empty() ? "is none" : fmt::format("are {}", fmt::join(known, ", ")))};
    }
  }
  return {};
}

}  // namespace

Result<Selection> select(const Facts& facts, const std::vector<std::string>& nics,
                         const std::vector<std::string>& exclude) {
  for (const auto& names : {nics, exclude}) {
    if (Status status = check_names(facts, names); !status) {
      return status.error();
    }
  }
  Selection selection;
  const auto reasons = protected_interfaces(facts.network, facts.sessions);
  for (const host::PciFunction& function : facts.functions) {
    const std::string interface = interface_of(facts, function);
    const bool named = is_named(nics, function.address, interface);
    const bool excluded = is_named(exclude, function.address, interface);
    const bool recorded = facts.recorded.contains(function.address);
    if (recorded && excluded) {
      return Error{
          Errc::invalid_usage,
          fmt::format("{} ({}) is a rail since an earlier run: run `tfabric setup --undo` first, which "
                      "gives back all of them",
                      function.address, interface)};
    }
    const std::string reason = recorded ? "" : obstacle(facts, function, reasons);
    if (named && !excluded && !reason.empty()) {
      return Error{Errc::invalid_usage,
                   fmt::format("{} ({}) cannot be used: it {}", function.address, interface, reason)};
    }
    if (excluded) {
      selection.left_out.push_back({function.address, interface, "is excluded"});
    } else if (!reason.empty()) {
      selection.left_out.push_back({function.address, interface, reason});
    } else if (!nics.empty() && !named && !recorded) {
      selection.left_out.push_back({function.address, interface, "was not asked for"});
    } else {
      selection.enis.push_back(make_eni(facts, function));
    }
  }
  if (Status status = check_groups(facts, selection); !status) {
    return status.error();
  }
  return selection;
}

}  // namespace tfabric::setup
