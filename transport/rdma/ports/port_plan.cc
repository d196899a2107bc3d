#include "transport/rdma/ports/port_plan.h"

#include <algorithm>

#include "transport/lane/announcements.h"

namespace tfabric::rdma {

std::string card_of(const Hca& hca) {
  const std::string& function =
      hca.pci.physical_function.empty() ? hca.pci.address : hca.pci.physical_function;
  return function.empty() ? hca.name : function.substr(0, function.rfind('.'));
}

std::vector<std::vector<std::size_t>> bond_ports(std::span<const BondedPort> ports, config::Switch bond) {
  const auto belong_together = [&](BondedPort one, BondedPort other) {
    if (bond == config::Switch::on) {
      one.card = other.card = {};
    }
    return bond != config::Switch::off && one == other;
  };
  std::vector<std::vector<std::size_t>> devices;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto device = std::find_if(devices.begin(), devices.end(), [&](const auto& each) {
      return each.size() < lane::kMaxKeys && belong_together(ports[each.front()], ports[i]);
    });
    if (device != devices.end()) {
      device->push_back(i);
    } else {
      devices.push_back({i});
    }
  }
  return devices;
}

}  // namespace tfabric::rdma
