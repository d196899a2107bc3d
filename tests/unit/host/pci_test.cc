#include "host/pci.h"

#include <catch2/catch.hpp>

#include "config/value.h"
#include "tests/unit/host/fake_host.h"

using namespace tfabric;
using namespace tfabric::host;
using test::FakeHost;

TEST_CASE("Ethernet functions are found with their driver, group, node and interfaces") {
  FakeHost fake;
  const std::string second = fake.add_function("0000:00:11.0");
  const std::string first = fake.add_function("0000:00:10.0");
  fake.add_function("0000:00:02.0", "0x030000");
  fake.link(first + "/driver", "/sys/bus/pci/drivers/vfio-pci");
  fake.link(first + "/iommu_group", "/sys/kernel/iommu_groups/17");
  fake.write(first + "/numa_node", "1\n");
  fake.link(second + "/driver", "/sys/bus/pci/drivers/virtio-pci");
  fake.write(second + "/virtio3/net/eth1/mtu", "1500\n");

  const auto functions = ethernet_functions(fake.sysfs());
  REQUIRE(functions.size() == 2);
  REQUIRE(functions[0].address == "0000:00:10.0");
  REQUIRE(functions[0].driver == "vfio-pci");
  REQUIRE(functions[0].iommu_group == 17);
  REQUIRE_FALSE(functions[0].no_iommu);
  REQUIRE(functions[0].numa_node == 1);
  REQUIRE(functions[0].interfaces.empty());
  REQUIRE(functions[1].vendor == 0x1af4);
  REQUIRE(functions[1].device == 0x1041);
  REQUIRE(functions[1].driver == "virtio-pci");
  REQUIRE_FALSE(functions[1].iommu_group);
  REQUIRE(functions[1].numa_node == -1);
  REQUIRE(functions[1].interfaces == std::vector<std::string>{"eth1"});
}

TEST_CASE("a function that VFIO owns without an IOMMU is recognized") {
  FakeHost fake;
  const std::string folder = fake.add_function("0000:00:10.0");
  fake.link(folder + "/iommu_group", "/sys/kernel/iommu_groups/0");
  fake.write("/sys/kernel/iommu_groups/0/name", "vfio-noiommu\n");
  const auto function = pci_function(fake.sysfs(), "0000:00:10.0");
  REQUIRE(function);
  REQUIRE(function->no_iommu);
  REQUIRE(goes_without_iommu(*function));
}

TEST_CASE("UIO's drivers work without an IOMMU, even if there is one") {
  REQUIRE(goes_without_iommu({.driver = "uio_pci_generic"}));
  REQUIRE(goes_without_iommu({.driver = "igb_uio", .iommu_group = 3}));
  REQUIRE_FALSE(goes_without_iommu({.driver = "vfio-pci", .iommu_group = 3}));
  REQUIRE_FALSE(goes_without_iommu({.driver = "ena"}));
}

TEST_CASE("there is no function for an invalid or unused PCI address") {
  FakeHost fake;
  fake.add_function("0000:00:10.0");
  REQUIRE(pci_function(fake.sysfs(), "0000:00:10.0"));
  REQUIRE_FALSE(pci_function(fake.sysfs(), "0000:00:12.0"));
  for (const std::string text :
       {"", "00:10.0", "0000:00:10.0/", "../../../etc", "0000:00:1g.0", "0000-00:10.0"}) {
    CAPTURE(text);
    REQUIRE_FALSE(config::is_pci_address(text));
    REQUIRE_FALSE(pci_function(fake.sysfs(), text));
  }
  REQUIRE(config::is_pci_address("0000:af:1f.7"));
  REQUIRE(ethernet_functions(Sysfs("/nowhere")).empty());
}
