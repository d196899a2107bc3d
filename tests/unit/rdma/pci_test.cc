#include <catch2/catch.hpp>

#include "fake_sysfs.h"
#include "transport/rdma/discovery/hardware.h"

using namespace tfabric::rdma;

TEST_CASE("a device's PCI function is found with its address, NUMA node and physical function") {
  const FakeSysfs tree;
  const std::string pci = "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.2";
  tree.write(pci + "/numa_node", "1");
  tree.link(pci + "/physfn", "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0");
  tree.add_hca("mlx5_4", pci);
  const PciFunction function = find_pci_function(tree.sysfs(), "class/infiniband/mlx5_4/device");
  REQUIRE(function.path == tree.root() + "/" + pci);
  REQUIRE(function.address == "0000:3b:00.2");
  REQUIRE(function.physical_function == "0000:3b:00.0");
  REQUIRE(function.numa_node == 1);
}

TEST_CASE("a device on a bus behind a PCI function has that function") {
  const FakeSysfs tree;
  tree.link("class/net/eth0/device", "devices/pci0000:00/10000:00:03.0/virtio0");
  const PciFunction function = find_pci_function(tree.sysfs(), "class/net/eth0/device");
  REQUIRE(function.address == "10000:00:03.0");
  REQUIRE(function.numa_node == -1);
  REQUIRE(function.physical_function.empty());
}

TEST_CASE("a device without PCI has no function") {
  const FakeSysfs tree;
  tree.link("class/net/veth0/device", "devices/virtual/net/veth0");
  REQUIRE(find_pci_function(tree.sysfs(), "class/net/veth0/device").path.empty());
  REQUIRE(find_pci_function(tree.sysfs(), "class/net//device").path.empty());
}
