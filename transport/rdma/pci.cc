#include "transport/rdma/pci.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tfabric::rdma {
namespace {

// "dddd:bb:dd.f"; domains behind some bridges have more digits.
bool is_pci_address(std::string_view text) {
  constexpr std::string_view kTail = ":xx:xx.x";
  constexpr std::size_t kFewestDomainDigits = 4;
  const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  if (text.size() < kFewestDomainDigits + kTail.size()) {
    return false;
  }
  const std::string_view domain = text.substr(0, text.size() - kTail.size());
  const std::string_view tail = text.substr(domain.size());
  return std::all_of(domain.begin(), domain.end(), is_hex) &&
         std::equal(tail.begin(), tail.end(), kTail.begin(),
                    [&](char c, char shape) { return shape == 'x' ? is_hex(c) : c == shape; });
}

}  // namespace

PciFunction find_pci_function(const Sysfs& sysfs, const std::string& device) {
  std::string path = sysfs.resolve(device);
  while (!path.empty() && !is_pci_address(base_name(path))) {
    const std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
  if (path.empty()) {
    return {};
  }
  return {.path = sysfs.full(path),
          .address = base_name(path),
          .physical_function = base_name(sysfs.resolve(path + "/physfn")),
          .numa_node = static_cast<int>(sysfs.read_number(path + "/numa_node").value_or(-1))};
}

}  // namespace tfabric::rdma
