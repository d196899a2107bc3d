#include "tools/setup/driver.h"

#include <fmt/format.h>

namespace tfabric::setup {
namespace {

std::string folder_of(const std::string& address) { return "/sys/bus/pci/devices/" + address; }

// Drivers that VFIO tolerates in a group that it assigns: they start no DMA, or are VFIO's own.
bool tolerated(const std::string& driver) {
  return driver.empty() || driver == "vfio-pci" || driver == "pci-stub" || driver == "pcieport";
}

}  // namespace

std::string driver_of(const Host& host, const std::string& address) {
  return host::base_name(host.read_link(folder_of(address) + "/driver").value_or(""));
}

std::string driver_override_of(const Host& host, const std::string& address) {
  const std::string text = host.sysfs().read("bus/pci/devices/" + address + "/driver_override").value_or("");
  return text == "(null)" ? "" : text;
}

Status set_driver_override(Host& host, const std::string& address, const std::string& driver) {
  if (driver_override_of(host, address) == driver) {
    return {};
  }
  return host.write_attribute(folder_of(address) + "/driver_override", driver + "\n");
}

Status unbind(Host& host, const std::string& address) {
  return driver_of(host, address).empty()
             ? Status()
             : host.write_attribute(folder_of(address) + "/driver/unbind", address);
}

Status bind_to(Host& host, const std::string& address, const std::string& driver) {
  if (Status status = host.write_attribute("/sys/bus/pci/drivers/" + driver + "/bind", address);
      !status && driver_of(host, address) != driver) {
    return status;
  }
  if (const std::string now = driver_of(host, address); now != driver) {
    return Error{Errc::system,
                 fmt::format("{} does not accept {}, which now has {}: the kernel's log (dmesg) may say why",
                             driver, address, now.empty() ? "no driver" : now)};
  }
  return {};
}

std::vector<Neighbour> group_neighbours(const Host& host, const std::string& address) {
  std::vector<Neighbour> neighbours;
  for (const std::string& other : host.list(folder_of(address) + "/iommu_group/devices")) {
    const std::string driver = driver_of(host, other);
    if (other != address && !tolerated(driver)) {
      neighbours.push_back({other, driver});
    }
  }
  return neighbours;
}

std::string user_of(const Host& host, const std::string& address) {
  const auto function = host::pci_function(host.sysfs(), address);
  if (!function || !function->iommu_group) {
    return {};
  }
  const std::string file = host::vfio_file(*function);
  for (const std::string& process : host.list("/proc")) {
    const std::string folder = fmt::format("/proc/{}/fd", process);
    for (const std::string& descriptor : host.list(folder)) {
      if (host.read_link(fmt::format("{}/{}", folder, descriptor)) == file) {
        return fmt::format("{} ({})", process,
                           host::Sysfs(host.full("/proc")).read(process + "/comm").value_or("?"));
      }
    }
  }
  return {};
}

std::string await_interface(Host& host, const std::string& address) {
  constexpr int kMoments = 100;
  for (int moment = 0; moment < kMoments; ++moment) {
    const auto function = host::pci_function(host.sysfs(), address);
    if (function && !function->interfaces.empty()) {
      return function->interfaces.front();
    }
    host.wait_a_moment();
  }
  return {};
}

}  // namespace tfabric::setup
