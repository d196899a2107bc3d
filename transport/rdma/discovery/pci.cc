#include "transport/rdma/discovery/pci.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "config/value.h"

namespace tfabric::rdma {
namespace {

// Domains behind some bridges have more than four digits.
bool is_function(std::string_view name) {
  constexpr std::size_t kUsual = 12;  // "dddd:bb:dd.f"
  const std::string_view more = name.substr(0, name.size() - std::min(name.size(), kUsual));
  return config::is_pci_address(name.substr(more.size())) &&
         std::all_of(more.begin(), more.end(),
                     [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

PciFunction find_pci_function(const host::Sysfs& sysfs, const std::string& device) {
  std::string path = sysfs.resolve(device);
  while (!path.empty() && !is_function(host::base_name(path))) {
    const std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
  if (path.empty()) {
    return {};
  }
  return {.path = sysfs.full(path),
          .address = host::base_name(path),
          .physical_function = host::base_name(sysfs.resolve(path + "/physfn")),
          .numa_node = static_cast<int>(sysfs.read_number(path + "/numa_node").value_or(-1))};
}

}  // namespace tfabric::rdma
