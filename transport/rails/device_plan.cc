#include "transport/rails/device_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "transport/bootstrap/addresses.h"
#include "transport/rails/kernel_rail.h"
#include "transport/rails/rail_kinds.h"
#include "transport/rails/rail_share.h"

namespace tfabric::rails {
namespace {

// Returns the PCI function behind a rail, as sysfs names it; empty if there is none.
std::string pci_path_of(const config::Rail& rail) {
  std::string link;
  if (config::row_of(rail.kind).device == config::RailKindRow::pci_function) {
    link = "/sys/bus/pci/devices/" + rail.device;
  } else if (config::is_kernel_interface(rail)) {
    link = "/sys/class/net/" + rail.device + "/device";
  } else {
    return {};
  }
  const std::unique_ptr<char, void (*)(void*)> real(realpath(link.c_str(), nullptr), std::free);
  // NCCL takes the last component for a bus id "dddd:bb:dd.f"; a virtio device is one level below its
  // function.
  std::string path = real == nullptr ? std::string() : std::string(real.get());
  if (const auto name = path.rfind('/'); path.compare(name + 1, 6, "virtio") == 0) {
    path.resize(name);
  }
  return path;
}

// All processes of the host must show the same GUID, so it is made from the configuration.
std::uint64_t guid_of(const config::Rail& rail) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : rail.name + "|" + rail.device) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

DevicePlan describe(const std::vector<const config::Rail*>& rails, std::size_t number, int max_recvs) {
  DevicePlan plan;
  transport::DeviceProperties& properties = plan.properties;
  properties.speed_mbps = 0;
  for (const config::Rail* rail : rails) {
    properties.name += (properties.name.empty() ? "" : "+") + rail->name;
    const RailKindTraits& kind = traits_of(rail->kind);
    const std::uint32_t speed = known_speed_mbps(*rail);
    if (speed == 0 && kind.driver_reports_speed) {
      ++plan.rails_of_unknown_speed;
    } else {
      properties.speed_mbps += static_cast<int>(speed > 0 ? speed : kind.default_speed_mbps);
    }
  }
  properties.pci_path = pci_path_of(*rails.front());
  properties.guid = guid_of(*rails.front());
  properties.port = 1;
  properties.max_recvs = max_recvs;
  properties.rail_id = static_cast<int>(number);
  return plan;
}

// Returns true if rails of our own TCP over a network are among them: those are worth a life-boat.
bool wants_lifeboat(const config::Tcp& config) {
  return config.lifeboat && std::any_of(config.rails.begin(), config.rails.end(), config::is_own_network);
}

bool is_lifeboat(const config::Tcp& config, const config::Rail& rail) {
  return config::is_kernel_stack(rail) && wants_lifeboat(config);
}

// Which rails of the process carry a device that stands for the configured rails `stands_for`, and which of
// the others protect it.
void choose_carriers(const config::Tcp& shown, const std::vector<std::size_t>& used,
                     const std::vector<std::size_t>& stands_for, DevicePlan& device, std::size_t number) {
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const config::Rail& rail = shown.rails[used[i]];
    if (is_lifeboat(shown, rail)) {
      device.lifeboats.push_back(i);
    } else if (std::find(stands_for.begin(), stands_for.end(), used[i]) != stands_for.end()) {
      device.rails.push_back(i);
    } else {
      others.push_back(i);
    }
  }
  if (device.rails.empty() && !others.empty()) {
    const auto chosen = others.begin() + static_cast<std::ptrdiff_t>(number % others.size());
    device.rails.push_back(*chosen);
    others.erase(chosen);
  }
  for (const std::size_t i : others) {
    if (shown.reserve && config::is_networked(shown.rails[used[i]])) {
      device.reserve.push_back(i);
    }
  }
}

}  // namespace

std::vector<std::size_t> device_rails(const config::Tcp& config) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < config.rails.size(); ++i) {
    if (!is_lifeboat(config, config.rails[i])) {
      numbers.push_back(i);
    }
  }
  return numbers;
}

transport::DeviceProperties shown_properties(const DevicePlan& device, std::uint32_t driver_speed_mbps) {
  transport::DeviceProperties properties = device.properties;
  const std::uint32_t speed = driver_speed_mbps > 0 ? driver_speed_mbps : kUnknownSpeedMbps;
  properties.speed_mbps += static_cast<int>(device.rails_of_unknown_speed * speed);
  return properties;
}

bool bonds(const config::Config& config) {
  if (config.tcp.bond != config::Switch::automatic) {
    return config.tcp.bond == config::Switch::on;
  }
  const std::vector<std::size_t> numbers = device_rails(config.tcp);
  const auto& rails = config.tcp.rails;
  const auto count_if = [&](const auto& accept) {
    return static_cast<std::size_t>(
        std::count_if(numbers.begin(), numbers.end(), [&](std::size_t i) { return accept(rails[i]); }));
  };
  const std::size_t by_kernel = count_if(config::is_kernel_stack);
  if (numbers.size() > config::kMostBonded || count_if(config::is_automatic_memif) > 0 ||
      (by_kernel != 0 && by_kernel != numbers.size())) {
    return false;
  }
  const Result<RailShare> share = share_of(config.tcp, config.launcher);
  return share && share->any == 0 && share->rails.size() == count_if(is_exclusive);
}

std::vector<DevicePlan> plan_devices(const config::Config& config, const std::vector<std::size_t>& used) {
  const config::Tcp& shown = config.tcp;
  const std::vector<std::size_t> numbers = device_rails(shown);
  std::vector<DevicePlan> devices;
  const std::size_t each = bonds(config) ? numbers.size() : 1;
  for (std::size_t first = 0; first < numbers.size(); first += each) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<std::size_t> stands_for(begin, begin + static_cast<std::ptrdiff_t>(each));
    std::vector<const config::Rail*> described;
    for (const std::size_t number : stands_for) {
      described.push_back(&shown.rails[number]);
    }
    devices.push_back(describe(described, devices.size(), static_cast<int>(shown.max_recvs)));
    choose_carriers(shown, used, stands_for, devices.back(), devices.size() - 1);
  }
  return devices;
}

std::vector<config::Rail> choose_lifeboats(const config::Config& config,
                                           std::span<const host::LocalAddress> addresses) {
  if (!wants_lifeboat(config.tcp) ||
      std::any_of(config.tcp.rails.begin(), config.tcp.rails.end(), config::is_kernel_stack)) {
    return {};
  }
  std::vector<config::Rail> lifeboats = kernel_rails(config.rdma, addresses);
  std::erase_if(lifeboats, [&](const config::Rail& lifeboat) {
    const net::Prefix first = *net::parse_prefix(lifeboat.addresses.front());
    return bootstrap::is_loopback(net::octets_of(first.address)) ||
           std::any_of(config.tcp.rails.begin(), config.tcp.rails.end(), [&](const config::Rail& rail) {
             return rail.device == lifeboat.device || rail.name == lifeboat.device;
           });
  });
  return lifeboats;
}

bool has_any_lifeboat(const config::Config& config, std::span<const host::LocalAddress> addresses) {
  return std::any_of(config.tcp.rails.begin(), config.tcp.rails.end(),
                     [&](const config::Rail& rail) { return is_lifeboat(config.tcp, rail); }) ||
         !choose_lifeboats(config, addresses).empty();
}

}  // namespace tfabric::rails
