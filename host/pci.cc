#include "host/pci.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "config/value.h"

namespace tfabric::host {
namespace {

constexpr std::string_view kFunctions = "bus/pci/devices";
constexpr std::uint32_t kEthernet = 0x0200;  // PCI Code and ID Assignment: class 02h, subclass 00h

// Reads a number like "0x1af4"; returns 0 if there is none.
std::uint32_t read_hexadecimal(const Sysfs& sysfs, const std::string& path) {
  const std::string text = sysfs.read(path).value_or("");
  std::uint32_t value = 0;
  if (text.starts_with("0x")) {
    std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  }
  return value;
}

std::optional<int> number_of_group(const std::string& name) {
  int value = 0;
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), value);
  return fault == std::errc{} ? std::optional(value) : std::nullopt;
}

// Most drivers have their interfaces in the function's folder; virtio's are one level below.
std::vector<std::string> interfaces_of(const Sysfs& sysfs, const std::string& folder) {
  std::vector<std::string> names = sysfs.list(folder + "/net");
  for (const std::string& below : sysfs.list(folder)) {
    if (below.starts_with("virtio")) {
      const auto more = sysfs.list(fmt::format("{}/{}/net", folder, below));
      names.insert(names.end(), more.begin(), more.end());
    }
  }
  return names;
}

PciFunction read(const Sysfs& sysfs, const std::string& folder) {
  PciFunction function;
  function.address = base_name(folder);
  function.vendor = static_cast<std::uint16_t>(read_hexadecimal(sysfs, folder + "/vendor"));
  function.device = static_cast<std::uint16_t>(read_hexadecimal(sysfs, folder + "/device"));
  function.driver = base_name(sysfs.resolve(folder + "/driver"));
  function.iommu_group = number_of_group(base_name(sysfs.resolve(folder + "/iommu_group")));
  function.no_iommu = sysfs.read(folder + "/iommu_group/name") == "vfio-noiommu";
  function.numa_node = static_cast<int>(sysfs.read_number(folder + "/numa_node").value_or(-1));
  function.interfaces = interfaces_of(sysfs, folder);
  return function;
}

std::string folder_of(const std::string& address) { return std::string(kFunctions) + "/" + address; }

}  // namespace

bool has_uio_driver(const PciFunction& function) {
  constexpr std::array<std::string_view, 2> kDrivers{"uio_pci_generic", "igb_uio"};
  return std::find(kDrivers.begin(), kDrivers.end(), function.driver) != kDrivers.end();
}

bool goes_without_iommu(const PciFunction& function) { return function.no_iommu || has_uio_driver(function); }

std::string vfio_file(const PciFunction& function) {
  return fmt::format("/dev/vfio/{}{}", function.no_iommu ? "noiommu-" : "", function.iommu_group.value_or(0));
}

std::vector<PciFunction> ethernet_functions(const Sysfs& sysfs) {
  std::vector<PciFunction> functions;
  for (const std::string& address : sysfs.list(std::string(kFunctions))) {
    if (read_hexadecimal(sysfs, folder_of(address) + "/class") >> 8 == kEthernet) {
      functions.push_back(read(sysfs, folder_of(address)));
    }
  }
  return functions;
}

std::optional<PciFunction> pci_function(const Sysfs& sysfs, const std::string& address) {
  if (!config::is_pci_address(address) || !sysfs.read(folder_of(address) + "/class")) {
    return std::nullopt;
  }
  return read(sysfs, folder_of(address));
}

}  // namespace tfabric::host
