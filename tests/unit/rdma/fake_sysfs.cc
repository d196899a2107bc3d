#include "fake_sysfs.h"

#include <fmt/format.h>

namespace tfabric::rdma {

void FakeSysfs::write(const std::string& path, const std::string& text) const {
  host_.write("/" + path, text + "\n");
}

void FakeSysfs::link(const std::string& path, const std::string& target) const {
  host_.link("/" + path, "/" + target);
}

void FakeSysfs::add_hca(const std::string& name, const std::string& pci, int ports) const {
  for (int port = 1; port <= ports; ++port) {
    write(fmt::format("class/infiniband/{}/ports/{}/phys_state", name, port), "5: LinkUp");
  }
  if (!pci.empty()) {
    link(fmt::format("class/infiniband/{}/device", name), pci);
  }
}

void FakeSysfs::add_gid(const std::string& hca, int port, int index, const std::string& type,
                        const std::string& netdev) const {
  const std::string attributes = fmt::format("class/infiniband/{}/ports/{}/gid_attrs", hca, port);
  write(fmt::format("{}/types/{}", attributes, index), type);
  write(fmt::format("{}/ndevs/{}", attributes, index), netdev);
}

}  // namespace tfabric::rdma
