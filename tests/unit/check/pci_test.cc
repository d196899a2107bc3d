// What `tfabric check` says of NICs.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "broken_host.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using test::BrokenHost;
using test::has;
using test::pci_rail;
using test::text_of;

namespace {

// Gives a function these PCI ids, instead of a virtio NIC's.
void identify(const BrokenHost& host, const std::string& nic, const char* vendor, const char* device) {
  host.files.write(nic + "/vendor", fmt::format("{}\n", vendor));
  host.files.write(nic + "/device", fmt::format("{}\n", device));
}

}  // namespace

TEST_CASE("a NIC on vfio-pci with hugepages leaves nothing to fix") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure(pci_rail());
  const Report report = broken.examine();
  CAPTURE(to_text(report));
  REQUIRE(exit_code_of(report) == kAllRight);
  REQUIRE(report.verdict.network == Network::tcp);
  REQUIRE(report.verdict.text == "NCCL uses tfabric here, TCP over DPDK by the rail(s) eni1");
}

TEST_CASE("a finding about a missing NIC names those that the host has") {
  BrokenHost broken;
  broken.configure(pci_rail());
  REQUIRE_THAT(text_of(broken.examine(), Id::pci_no_such_function), Contains("it shows no PCI NIC at all"));
  const std::string other = broken.files.add_function("0000:00:03.0");
  broken.files.write(other + "/net/eth7/mtu", "1500\n");
  REQUIRE_THAT(text_of(broken.examine(), Id::pci_no_such_function),
               StartsWith("error rail eni1: this host has no PCI function 0000:00:10.0: its PCI NICs are "
                          "0000:00:03.0 (eth7) | "));
}

TEST_CASE("a PCI function that is no NIC is left with its driver") {
  BrokenHost broken;
  const std::string disk = broken.files.add_function(test::kNic, "0x010802");
  broken.files.link(disk + "/driver", "/sys/bus/pci/drivers/nvme");
  broken.configure(pci_rail());
  const Report report = broken.examine();
  REQUIRE_THAT(text_of(report, Id::pci_not_a_nic),
               StartsWith("error rail eni1: 0000:00:10.0 is no Ethernet NIC"));
  REQUIRE_FALSE(has(report, Id::pci_kernel_driver));
}

TEST_CASE("a NIC that no driver takes stays with the kernel") {
  BrokenHost broken;
  const std::string nic = broken.files.add_function(test::kNic);
  identify(broken, nic, "0x15b3", "0x101e");
  broken.files.link(nic + "/driver", "/sys/bus/pci/drivers/mlx5_core");
  broken.configure(pci_rail());
  const Report report = broken.examine();
  REQUIRE_THAT(
      text_of(report, Id::pci_not_supported),
      StartsWith("error rail eni1: no driver of this build takes 0000:00:10.0, a NIC 15b3:101e | leave"));
  REQUIRE_FALSE(has(report, Id::pci_kernel_driver));
}

TEST_CASE("an ENA under vfio-pci may lack write combining") {
  BrokenHost broken;
  const std::string nic = broken.files.add_function(test::kNic);
  identify(broken, nic, "0x1d0f", "0xec20");
  broken.files.link(nic + "/driver", "/sys/bus/pci/drivers/vfio-pci");
  broken.configure(pci_rail());
  REQUIRE_THAT(text_of(broken.examine(), Id::ena_uncached),
               StartsWith("note rail eni1: 0000:00:10.0 is an ENA"));
  identify(broken, nic, "0x1af4", "0x1041");
  REQUIRE_FALSE(has(broken.examine(), Id::ena_uncached));
}

TEST_CASE("a finding about a NIC of the kernel's names driver and interface, and how to bind it") {
  BrokenHost broken;
  const std::string nic = broken.files.add_function(test::kNic);
  broken.files.link(nic + "/driver", "/sys/bus/pci/drivers/ena");
  broken.files.write(nic + "/net/eth1/mtu", "1500\n");
  broken.configure(pci_rail());
  const Report report = broken.examine();
  REQUIRE_THAT(
      text_of(report, Id::pci_kernel_driver),
      StartsWith("error rail eni1: 0000:00:10.0 belongs to the kernel's driver ena, as the interface "
                 "eth1 | `tfabric setup`, or by hand") &&
          Contains("echo 0000:00:10.0 > $D/driver/unbind"));
  REQUIRE_THAT(text_of(report, Id::vfio_not_loaded), Contains("modprobe vfio-pci"));
  REQUIRE(report.verdict.network == Network::nccl);
}

TEST_CASE("a NIC without a driver is an error") {
  BrokenHost broken;
  broken.files.add_function(test::kNic);
  broken.configure(pci_rail());
  REQUIRE_THAT(text_of(broken.examine(), Id::pci_no_driver), StartsWith("error rail eni1: no driver has"));
}

TEST_CASE("a NIC without an IOMMU is a warning, and needs root's rights and hugepages") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure("memory.hugepages = \"off\"\n" + pci_rail());
  const std::string nic = std::string("/sys/bus/pci/devices/") + test::kNic;
  SECTION("UIO's") {
    std::filesystem::remove(broken.host.root + nic + "/driver");
    broken.files.link(nic + "/driver", "/sys/bus/pci/drivers/uio_pci_generic");
    REQUIRE_THAT(text_of(broken.examine(), Id::pci_no_iommu),
                 StartsWith("warning rail eni1: uio_pci_generic has 0000:00:10.0 without an IOMMU") &&
                     Contains("| `tfabric setup`, or by hand"));
    REQUIRE_FALSE(has(broken.examine(), Id::vfio_not_loaded));
  }
  SECTION("VFIO's own mode") {
    broken.files.write("/sys/kernel/iommu_groups/17/name", "vfio-noiommu\n");
    broken.files.write("/dev/vfio/noiommu-17", "");
    REQUIRE_THAT(text_of(broken.examine(), Id::pci_no_iommu), Contains("iommu=pt"));
    broken.denied = {"/dev/vfio/noiommu-17"};
    REQUIRE_THAT(text_of(broken.examine(), Id::vfio_device_denied), Contains("/dev/vfio/noiommu-17"));
    broken.denied.clear();
  }
  broken.set_capabilities("0");
  REQUIRE_THAT(text_of(broken.examine(), Id::capability_missing),
               StartsWith("error rail eni1: this process lacks CAP_SYS_"));
  broken.set_capabilities("220000");  // CAP_SYS_RAWIO and CAP_SYS_ADMIN, and none to lock memory
  broken.host.memlock_bytes = 0;
  const Report report = broken.examine();
  CAPTURE(to_text(report));
  REQUIRE(exit_code_of(report) == kWarnings);
  REQUIRE(report.verdict.network == Network::tcp);
  REQUIRE(has(report, Id::hugepages_used));
  broken.set_hugepages(2048, 100, 40);
  REQUIRE_THAT(text_of(broken.examine(), Id::hugepages_too_few),
               StartsWith("error memory: ") && Contains("without an IOMMU reads nothing else"));
}

TEST_CASE("the files of VFIO must exist, and this user must be able to open them") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure(pci_rail());
  broken.denied = {"/dev/vfio/17"};
  REQUIRE_THAT(text_of(broken.examine(), Id::vfio_device_denied),
               StartsWith("error rail eni1: this user (uid 1001) may not open /dev/vfio/17 | ") &&
                   Contains("--device /dev/vfio/17"));
  std::filesystem::remove(broken.host.root + "/dev/vfio/17");
  const Report report = broken.examine();
  REQUIRE_THAT(
      text_of(report, Id::vfio_device_missing),
      Contains("/dev/vfio/17 is not there") && Contains("--device /dev/vfio/vfio --device /dev/vfio/17"));
  REQUIRE_FALSE(has(report, Id::vfio_device_denied));
}

TEST_CASE("an IOMMU group must not contain devices of the kernel's drivers") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure(pci_rail());
  broken.files.write("/sys/kernel/iommu_groups/17/devices/0000:00:01.0", "");
  broken.files.link("/sys/bus/pci/devices/0000:00:01.0/driver", "/sys/bus/pci/drivers/pcieport");
  REQUIRE_FALSE(has(broken.examine(), Id::iommu_group_shared));
  broken.files.write("/sys/kernel/iommu_groups/17/devices/0000:00:10.1", "");
  broken.files.link("/sys/bus/pci/devices/0000:00:10.1/driver", "/sys/bus/pci/drivers/nvme");
  REQUIRE_THAT(text_of(broken.examine(), Id::iommu_group_shared),
               Contains("IOMMU group 17 together with what the kernel's drivers have: 0000:00:10.1 (nvme);"));
}

TEST_CASE("a rail's numa_node is compared with the NIC's") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure(pci_rail("numa_node = 1"));
  const Report report = broken.examine();
  REQUIRE(text_of(report, Id::numa_node_differs) ==
          "note rail eni1: numa_node is 1, and 0000:00:10.0 is at node 0 | numa_node = 0");
  REQUIRE(exit_code_of(report) == kAllRight);
}

TEST_CASE("an address that the kernel has too is an error") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure(pci_rail());
  broken.host.addresses = {{.netdev = "eth0",
                            .address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 1, 5},
                            .prefix_length = 120}};
  const Report report = broken.examine();
  REQUIRE_THAT(
      text_of(report, Id::address_on_kernel),
      StartsWith("error rail eni1: the kernel has the address 10.0.1.5 too, on its interface eth0") &&
          Contains("ip address del 10.0.1.5/24 dev eth0"));
  REQUIRE(report.verdict.network == Network::nccl);
  REQUIRE_THAT(report.verdict.text, StartsWith("tfabric is not usable here, and NCCL goes on"));
}

TEST_CASE("an IPv6 address that the kernel has too is found as well") {
  BrokenHost broken;
  broken.host.environment = {{"TFABRIC_TCP_RAILS", "af_packet:device=eth0,addresses=fd00::5/64"}};
  broken.host.addresses = {{.netdev = "eth0",
                            .address = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5},
                            .prefix_length = 64}};
  REQUIRE_THAT(text_of(broken.examine(), Id::address_on_kernel),
               Contains("ip address del fd00::5/64 dev eth0"));
}
