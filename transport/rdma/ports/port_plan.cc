#include "transport/rdma/ports/port_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "transport/lane/announcements.h"

namespace tfabric::rdma {
namespace {

bool are_alike(const PlannedPort& one, const PlannedPort& other) {
  return one.link_layer == other.link_layer && one.function == other.function;
}

// What all of a device's own ports take.
std::uint32_t memory_kinds(std::span<const PlannedPort> ports, const DevicePorts& device) {
  std::uint32_t kinds = ~std::uint32_t{0};
  for (const std::size_t own : device.own) {
    kinds &= ports[own].memory_kinds;
  }
  return kinds;
}

void add_reserves(std::span<const PlannedPort> ports, std::vector<DevicePorts>& devices) {
  constexpr std::size_t kMost = 2;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    DevicePorts& device = devices[i];
    const std::size_t most = std::min(kMost, lane::kMaxKeys - device.own.size());
    const std::uint32_t kinds = memory_kinds(ports, device);
    for (std::size_t behind = 1; behind < devices.size() && device.reserve.size() < most; ++behind) {
      const std::size_t first = devices[(i + behind) % devices.size()].own.front();
      if (are_alike(ports[first], ports[device.own.front()]) &&
          (ports[first].memory_kinds & kinds) == kinds) {
        device.reserve.push_back(first);
      }
    }
  }
}

}  // namespace

std::vector<Function> functions_of(const Hca& hca, config::DataDirect wish) {
  if (hca.gpu_memory.data_direct.empty() || wish == config::DataDirect::off) {
    return {Function::own};
  }
  return wish == config::DataDirect::only ? std::vector{Function::data_direct}
                                          : std::vector{Function::own, Function::data_direct};
}

std::string port_name(const Hca& hca, const Port& port, Function function) {
  return fmt::format("{}{}:{}", hca.name, function == Function::data_direct ? "_dma" : "", port.number);
}

PlannedPort planned(const Hca& hca, const Port& port, Function function) {
  return {.card = card_of(hca),
          .link_layer = port.link_layer,
          .function = function,
          .memory_kinds = hca.gpu_memory.memory_kinds()};
}

std::string card_of(const Hca& hca) {
  const std::string& function =
      hca.pci.physical_function.empty() ? hca.pci.address : hca.pci.physical_function;
  return function.empty() ? hca.name : function.substr(0, function.rfind('.'));
}

std::vector<DevicePorts> plan_devices(std::span<const PlannedPort> ports, config::Switch bond, bool reserve) {
  const auto belong_together = [&](const PlannedPort& one, const PlannedPort& other) {
    return bond != config::Switch::off && are_alike(one, other) &&
           (bond == config::Switch::on || one.card == other.card);
  };
  std::vector<DevicePorts> devices;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto device = std::find_if(devices.begin(), devices.end(), [&](const DevicePorts& each) {
      return each.own.size() < lane::kMaxKeys && belong_together(ports[each.own.front()], ports[i]);
    });
    if (device != devices.end()) {
      device->own.push_back(i);
    } else {
      devices.push_back({.own = {i}, .reserve = {}});
    }
  }
  if (reserve) {
    add_reserves(ports, devices);
  }
  return devices;
}

std::vector<NamedDevice> devices_of(std::span<const Hca> hcas, const config::Config& config) {
  std::vector<std::string> names;
  std::vector<PlannedPort> ports;
  for (const Hca& hca : hcas) {
    for (const Port& port : hca.ports) {
      for (const Function function : functions_of(hca, config.rdma.data_direct)) {
        if (port.excluded.empty()) {
          names.push_back(port_name(hca, port, function));
          ports.push_back(planned(hca, port, function));
        }
      }
    }
  }
  std::vector<NamedDevice> devices;
  for (const DevicePorts& device : plan_devices(ports, config.rdma.bond, config.tcp.reserve)) {
    NamedDevice& named = devices.emplace_back();
    for (const std::size_t own : device.own) {
      named.own.push_back(names[own]);
    }
    for (const std::size_t reserve : device.reserve) {
      named.reserve.push_back(names[reserve]);
    }
    for (const config::Rail& rail : config::stand_ins_for_ports(config.tcp)) {
      named.tcp.push_back(rail.name);
    }
  }
  return devices;
}

}  // namespace tfabric::rdma
