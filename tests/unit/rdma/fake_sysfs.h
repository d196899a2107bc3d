// A tree of files in the form of sysfs, in a folder that goes away with it.
#pragma once

#include <cstdint>
#include <string>

#include "tests/unit/host/fake_host.h"

namespace tfabric::rdma {

class FakeSysfs {
 public:
  [[nodiscard]] host::Sysfs sysfs() const { return host::Sysfs(root()); }
  [[nodiscard]] const std::string& root() const { return host_.root(); }

  // A file with its folders.
  void write(const std::string& path, const std::string& text) const;
  // A link to another path of the tree, whose folder is made.
  void link(const std::string& path, const std::string& target) const;

  // An HCA with its link to a PCI function, if that is not empty: "devices/pci0000:3a/0000:3b:00.0".
  void add_hca(const std::string& name, const std::string& pci, int ports = 1) const;
  // What the kernel tells of a GID of RoCE, and its interface's folder.
  void add_gid(const std::string& hca, int port, int index, const std::string& type,
               const std::string& netdev) const;

 private:
  tfabric::test::FakeHost host_;
};

}  // namespace tfabric::rdma
