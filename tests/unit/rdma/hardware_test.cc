#include "transport/rdma/discovery/hardware.h"

#include <catch2/catch.hpp>

#include "fake_sysfs.h"

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

TEST_CASE("a link's speed is that of its lanes together") {
  constexpr std::uint8_t k1x = 1, k4x = 2, k8x = 4, k12x = 8, k2x = 16;
  REQUIRE(link_speed_mbps(k1x, 1) == 2500);     // SDR
  REQUIRE(link_speed_mbps(k4x, 4) == 40000);    // QDR
  REQUIRE(link_speed_mbps(k4x, 8) == 40000);    // FDR10
  REQUIRE(link_speed_mbps(k4x, 16) == 56000);   // FDR
  REQUIRE(link_speed_mbps(k12x, 2) == 60000);   // DDR
  REQUIRE(link_speed_mbps(k4x, 32) == 100000);  // EDR
  REQUIRE(link_speed_mbps(k2x, 64) == 100000);  // HDR100
  REQUIRE(link_speed_mbps(k4x, 64) == 200000);  // HDR
  REQUIRE(link_speed_mbps(k4x, 128) == 400000);
  REQUIRE(link_speed_mbps(k8x, 128) == 800000);
}

TEST_CASE("an encoding that is not known gives no speed") {
  REQUIRE(link_speed_mbps(0, 32) == 0);
  REQUIRE(link_speed_mbps(2, 0) == 0);
  REQUIRE(link_speed_mbps(2, 3) == 0);
}

TEST_CASE("the kernel's text gives the speed, of links that verbs have no encoding for as well") {
  REQUIRE(rate_mbps("2.5 Gb/sec (1X SDR)") == 2500);
  REQUIRE(rate_mbps("100 Gb/sec (4X EDR)") == 100000);
  REQUIRE(rate_mbps("800 Gb/sec (4X XDR)") == 800000);
}

TEST_CASE("another text gives no speed") {
  for (const char* text : {"", "fast", "100", "2. Gb/sec", "2.55 Gb/sec", "-1 Gb/sec", "99999999999 Gb/sec",
                           "9999999 Gb/sec", "100 Mb/sec"}) {
    INFO(text);
    REQUIRE(rate_mbps(text) == 0);
  }
}
