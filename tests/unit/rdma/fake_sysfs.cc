#include "fake_sysfs.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace tfabric::rdma {

namespace fs = std::filesystem;

void FakeSysfs::write(const std::string& path, const std::string& text) const {
  const fs::path file = root() + "/" + path;
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text << "\n";
}

void FakeSysfs::link(const std::string& path, const std::string& target) const {
  const fs::path from = root() + "/" + path;
  fs::create_directories(from.parent_path());
  fs::create_directories(root() + "/" + target);
  fs::create_symlink(root() + "/" + target, from);
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
