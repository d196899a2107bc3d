// A temporary tree of files with the layout of sysfs.
#pragma once

#include <cstdint>
#include <string>

#include "tests/unit/host/fake_host.h"

namespace tfabric::rdma {

class FakeSysfs {
 public:
  [[nodiscard]] host::Sysfs sysfs() const { return host::Sysfs(root()); }
  [[nodiscard]] const std::string& root() const { return host_.root(); }

  // Creates a file and its folders.
  void write(const std::string& path, const std::string& text) const;
  // Creates a link to another path of the tree, and that folder.
  void link(const std::string& path, const std::string& target) const;

  // Adds an HCA, with a link to its PCI function unless that is empty: "devices/pci0000:3a/0000:3b:00.0".
  void add_hca(const std::string& name, const std::string& pci, int ports = 1) const;
  // The kernel's files about a GID of RoCE, and the folder of its interface.
  void add_gid(const std::string& hca, int port, int index, const std::string& type,
               const std::string& netdev) const;

 private:
  tfabric::test::FakeHost host_;
};

}  // namespace tfabric::rdma
