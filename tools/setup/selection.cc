// Which NICs become rails: select().
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "host/dpdk_nics.h"
#include "tools/setup/files.h"
#include "tools/setup/plan.h"

namespace tfabric::setup {
namespace {

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

// Returns why a function that is under the kernel cannot become a rail; empty if it can. `has_addresses`: it
// needs none from the kernel.
std::string obstacle(const Facts& facts, const host::PciFunction& function,
                     const std::map<std::string, std::string>& reasons, bool has_addresses) {
  for (const std::string& interface : function.interfaces) {
    if (const auto reason = reasons.find(interface); reason != reasons.end()) {
      return reason->second;
    }
  }
  if (host::dpdk_driver_of(function).empty()) {
    return fmt::format("is a NIC {:04x}:{:04x}, for which this build has no driver", function.vendor,
                       function.device);
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
  if (usable_addresses(*link).empty() && !has_addresses) {
    return fmt::format(
        "has no address, and a rail needs one: --address {}=ADDRESS/LENGTH names it "
        "(docs/setup.md has how clouds tell it)",
        link->name);
  }
  return {};
}

const GivenNetwork* given_for(const GivenNetworks& given, const std::string& address,
                              const std::string& interface) {
  for (const auto& [name, network] : given) {
    if (is_named({name}, address, interface)) {
      return &network;
    }
  }
  return nullptr;
}

// A rail keeps what the journal says of it, which another run or a reboot would apply again.
Status check_recorded(const Eni& recorded, const GivenNetwork* given) {
  const auto differs = [](const std::string& wanted, const std::string& known) {
    return !wanted.empty() && wanted != known;
  };
  if (given == nullptr ||
      ((given->addresses.empty() || given->addresses == recorded.addresses) &&
       !differs(given->gateway, recorded.gateway) && !differs(given->gateway6, recorded.gateway6))) {
    return {};
  }
  return Error{Errc::invalid_usage,
               fmt::format("{} is a rail since an earlier run: to change its addresses or its gateway, run "
                           "`tfabric setup --undo` first, which gives back all of them, or edit {}",
                           describe(recorded), kConfigPath)};
}

Eni make_eni(const Facts& facts, const host::PciFunction& function, const GivenNetwork* given) {
  const Link& link = *facts.network.find(function.interfaces.front());
  Eni eni{.address = function.address,
          .name = link.name,
          .mac = link.mac,
          .driver = function.driver,
          .addresses = usable_addresses(link),
          .gateway = {},
          .gateway6 = {},
          .mtu = link.mtu,
          .speed_mbps = link.speed_mbps,
          .numa_node = function.numa_node};
  if (given != nullptr && !given->addresses.empty()) {
    eni.addresses = given->addresses;
  }
  const auto gateway = [&](const std::string& wanted, bool v6) {
    return wanted.empty() ? gateway_of(facts.network, link.name, eni.addresses, v6) : wanted;
  };
  eni.gateway = gateway(given == nullptr ? "" : given->gateway, /*v6=*/false);
  eni.gateway6 = gateway(given == nullptr ? "" : given->gateway6, /*v6=*/true);
  return eni;
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

// One NIC's way into the selection.
class Chooser {
 public:
  Chooser(const Facts& facts, const std::vector<std::string>& nics, const std::vector<std::string>& exclude,
          const GivenNetworks& given)
      : facts_(facts),
        nics_(nics),
        exclude_(exclude),
        given_(given),
        reasons_(protected_interfaces(facts.network, facts.sessions)) {}

  // Adds the NIC to the ENIs or to those that are left out. Errors: the options contradict the host.
  Status add(const host::PciFunction& function, Selection& selection) const {
    const std::string interface = interface_of(facts_, function);
    if (given_.contains(function.address) && given_.contains(interface)) {
      return Error{Errc::invalid_usage,
                   fmt::format("--address or --gateway names one NIC as {} and as {}: use one name",
                               function.address, interface)};
    }
    const GivenNetwork* given = given_for(given_, function.address, interface);
    const auto recorded = facts_.recorded.find(function.address);
    const bool excluded = is_named(exclude_, function.address, interface);
    if (recorded != facts_.recorded.end()) {
      if (excluded) {
        return Error{
            Errc::invalid_usage,
            fmt::format("{} ({}) is a rail since an earlier run: run `tfabric setup --undo` first, which "
                        "gives back all of them",
                        function.address, interface)};
      }
      if (Status status = check_recorded(recorded->second, given); !status) {
        return status;
      }
      selection.enis.push_back(recorded->second);
      return {};
    }
    const bool named = is_named(nics_, function.address, interface);
    const std::string reason = reason_against(function, given, excluded, named);
    // A NIC that is named and excluded is left out.
    if (!reason.empty() && (given != nullptr || (named && !excluded))) {
      return Error{Errc::invalid_usage,
                   fmt::format("{} ({}) cannot be used: it {}", function.address, interface, reason)};
    }
    if (reason.empty()) {
      selection.enis.push_back(make_eni(facts_, function, given));
    } else {
      selection.left_out.push_back({function.address, interface, reason});
    }
    return {};
  }

 private:
  // Returns why the NIC is left out; empty if it is not.
  [[nodiscard]] std::string reason_against(const host::PciFunction& function, const GivenNetwork* given,
                                           bool excluded, bool named) const {
    if (excluded) {
      return "is excluded";
    }
    std::string reason = obstacle(facts_, function, reasons_, given != nullptr && !given->addresses.empty());
    return reason.empty() && !nics_.empty() && !named ? "was not asked for" : reason;
  }

  const Facts& facts_;
  const std::vector<std::string>&nics_, &exclude_;
  const GivenNetworks& given_;
  std::map<std::string, std::string> reasons_;
};

std::vector<std::string> names_in(const GivenNetworks& given) {
  std::vector<std::string> names;
  for (const auto& [name, network] : given) {
    names.push_back(name);
  }
  return names;
}

}  // namespace

Result<Selection> select(const Facts& facts, const std::vector<std::string>& nics,
                         const std::vector<std::string>& exclude, const GivenNetworks& given) {
  for (const auto& names : {nics, exclude, names_in(given)}) {
    if (Status status = check_names(facts, names); !status) {
      return status.error();
    }
  }
  Selection selection;
  const Chooser chooser(facts, nics, exclude, given);
  for (const host::PciFunction& function : facts.functions) {
    if (Status status = chooser.add(function, selection); !status) {
      return status.error();
    }
  }
  if (Status status = check_groups(facts, selection); !status) {
    return status.error();
  }
  return selection;
}

}  // namespace tfabric::setup
