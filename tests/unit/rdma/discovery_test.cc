#include "transport/rdma/discovery/discovery.h"

#include <catch2/catch.hpp>
#include <cerrno>

#include "machine.h"
#include "transport/rdma/discovery/hardware.h"

using namespace tfabric;
using namespace tfabric::rdma;
using Catch::Contains;

namespace {

std::string why_unusable(const Discovery& discovery) {
  REQUIRE_FALSE(discovery.usable.ok());
  REQUIRE(discovery.usable.error().code == Errc::unusable);
  return discovery.usable.error().message;
}

std::vector<std::string> names(const Discovery& discovery) {
  std::vector<std::string> all;
  for (const Hca& hca : discovery.hcas) {
    all.push_back(hca.name);
  }
  return all;
}

config::HcaList list(const std::string& text) { return *config::HcaList::parse(text); }

}  // namespace

TEST_CASE("an active RoCE port is used, with all that is known of it") {
  Machine machine;
  const std::string pci = "devices/pci0000:3a/0000:3b:00.1";
  FakeHca& hca = machine.add("mlx5_1", pci);
  hca.sys_image_guid = 0x506b4b0300aabbccu;
  hca.node_guid = 0x506b4b0300aabbcdu;
  machine.tree.write(pci + "/numa_node", "1");
  const Discovery found = machine.look();
  REQUIRE(found.usable.ok());
  REQUIRE(found.hcas.size() == 1);
  const Hca& seen = found.hcas[0];
  REQUIRE(seen.excluded.empty());
  REQUIRE(seen.device_file == "/dev/infiniband/uverbs0");
  REQUIRE(seen.guid == 0x506b4b0300aabbccu);
  REQUIRE(seen.pci.address == "0000:3b:00.1");
  REQUIRE(seen.pci.numa_node == 1);
  const Port& port = seen.ports.at(0);
  REQUIRE(port.excluded.empty());
  REQUIRE(port.link_layer == LinkLayer::ethernet);
  REQUIRE(port.state == IBV_PORT_ACTIVE);
  REQUIRE(port.speed_mbps == 100000);
  REQUIRE(port.mtu == 4096);
  REQUIRE(port.netdev == "eth0p1");
  REQUIRE(port.gids.size() == 2);
  REQUIRE(port.gid->index == 3);
}

TEST_CASE("an InfiniBand port is used with its own GID, and its LID is reported") {
  Machine machine;
  FakePort& port = machine.add("mlx5_0").ports[0];
  port.link_layer = LinkLayer::infiniband;
  port.active_speed = 128;
  port.lid = 17;
  port.flags = IBV_QPF_GRH_REQUIRED;
  const Discovery found = machine.look();
  REQUIRE(found.usable.ok());
  const Port& seen = found.hcas[0].ports[0];
  REQUIRE(seen.gid->index == 0);
  REQUIRE(seen.lid == 17);
  REQUIRE(seen.grh_required);
  REQUIRE(seen.speed_mbps == 400000);
  REQUIRE(seen.netdev.empty());
}

TEST_CASE("a link faster than the 8 bits of verbs can express has the kernel's speed") {
  Machine machine;
  machine.add("mlx5_0").ports[0].active_speed = 128;
  machine.tree.write("class/infiniband/mlx5_0/ports/1/rate", "800 Gb/sec (4X XDR)");
  REQUIRE(machine.look().hcas[0].ports[0].speed_mbps == 800000);
}

TEST_CASE("the functions of a card have one GUID, and one without a card's GUID has its own") {
  Machine machine;
  for (const char* name : {"mlx5_0", "mlx5_1"}) {
    FakeHca& hca = machine.add(name);
    hca.sys_image_guid = 5;
    hca.node_guid = machine.fake.hcas.size();
  }
  machine.add("rxe0").node_guid = 9;
  const Discovery found = machine.look();
  REQUIRE(found.hcas[0].guid == found.hcas[1].guid);
  REQUIRE(found.hcas[2].guid == 9);
}

TEST_CASE("a virtual function names its physical one") {
  Machine machine;
  const std::string pci = "devices/pci0000:3a/0000:3b:00.2";
  machine.add("mlx5_2", pci);
  machine.tree.link(pci + "/physfn", "devices/pci0000:3a/0000:3b:00.0");
  REQUIRE(machine.look().hcas[0].pci.physical_function == "0000:3b:00.0");
}

TEST_CASE("a bond's members are reported") {
  Machine machine;
  machine.add("mlx5_bond_0");
  machine.tree.write("class/net/eth0p1/bonding/slaves", "eth2 eth3");
  REQUIRE(machine.look().hcas[0].ports[0].bond_members == std::vector<std::string>{"eth2", "eth3"});
}

TEST_CASE("soft-RoCE on an interface with PCI has that interface's function") {
  Machine machine;
  machine.add("rxe0");
  machine.tree.link("class/net/eth0p1/device", "devices/pci0000:00/0000:00:05.0/virtio1");
  REQUIRE(machine.look().hcas[0].pci.address == "0000:00:05.0");
}

TEST_CASE("HCAs are in the order of PCI addresses, then of names by their numbers") {
  Machine machine;
  machine.add("rxe10");
  machine.add("rxe2");
  machine.add("mlx5_1", "devices/pci0000:00/0000:81:00.0");
  machine.add("mlx5_0", "devices/pci0000:00/0000:c1:00.0");
  REQUIRE(names(machine.look()) == std::vector<std::string>{"mlx5_1", "mlx5_0", "rxe2", "rxe10"});
}

TEST_CASE("an HCA that cannot be opened is left out with the reason and its fix, and the others are used") {
  Machine machine;
  machine.add("mlx5_0").open_error = EACCES;
  machine.add("mlx5_1");
  const Discovery found = machine.look();
  REQUIRE(found.usable.ok());
  REQUIRE(
      found.hcas[0].excluded ==
      "cannot be opened: Permission denied: let this user read and write /dev/infiniband/uverbs0 (its owner, "
      "group and mode, as rdma-core's udev rules set)");
  REQUIRE(found.hcas[0].context == nullptr);
  REQUIRE(found.hcas[1].excluded.empty());
}

TEST_CASE("each reason why an HCA cannot be opened has a fix") {
  const std::string file = "/dev/infiniband/uverbs3";
  REQUIRE_THAT(open_fault(ENOENT, file), Contains("--device=/dev/infiniband/uverbs3"));
  REQUIRE_THAT(open_fault(EPERM, file), Contains("device cgroup"));
  REQUIRE_THAT(open_fault(ENOMEM, file), Contains("ulimit -l"));
  REQUIRE_THAT(open_fault(EMFILE, file), Contains("ulimit -n"));
  REQUIRE_THAT(open_fault(ENODEV, file), Contains("being reset"));
  REQUIRE_THAT(open_fault(EBADMSG, file), Contains("dmesg"));
  REQUIRE_THAT(open_fault(0, file), Contains("libibverbs does not say why"));
}

TEST_CASE("an HCA that the kernel has and libibverbs does not is reported") {
  Machine machine;
  machine.add("mlx5_0");
  machine.tree.add_hca("bnxt_re0", "");
  const Discovery found = machine.look();
  REQUIRE(names(found) == std::vector<std::string>{"bnxt_re0", "mlx5_0"});
  REQUIRE_THAT(found.hcas[0].excluded,
               Contains("known to the kernel and not to libibverbs: install its provider"));
}

TEST_CASE("a device that is neither InfiniBand nor RoCE is left out, and not opened") {
  Machine machine;
  machine.add("siw0").transport = IBV_TRANSPORT_IWARP;
  machine.add("efa_0").transport = IBV_TRANSPORT_UNSPECIFIED;
  const Discovery found = machine.look();
  REQUIRE_THAT(why_unusable(found), Contains("efa_0: is neither InfiniBand nor RoCE; siw0: is iWARP"));
  REQUIRE(machine.fake.opened.empty());
}

TEST_CASE("a port that is not active is left out with its state") {
  Machine machine;
  FakeHca& hca = machine.add("mlx5_0", "", 3);
  hca.ports[0].state = IBV_PORT_DOWN;
  hca.ports[1].state = IBV_PORT_INIT;
  hca.ports[2].state = IBV_PORT_ARMED;
  const Discovery found = machine.look();
  REQUIRE_THAT(why_unusable(found),
               Contains("mlx5_0 port 1: is in state DOWN, expected ACTIVE") &&
                   Contains("mlx5_0 port 2: is in state INIT, expected ACTIVE: no subnet manager") &&
                   Contains("mlx5_0 port 3: is in state ARMED, expected ACTIVE"));
  REQUIRE(found.hcas[0].ports[0].gids.size() == 2);
}

TEST_CASE("a RoCE port without a GID is left out with the reason") {
  Machine machine;
  machine.add("mlx5_0").ports[0].gids.clear();
  REQUIRE_THAT(why_unusable(machine.look()), Contains("mlx5_0 port 1: its GID table is empty"));
}

TEST_CASE("ports and HCAs that cannot be queried are left out with the reason") {
  Machine machine;
  machine.add("mlx5_0").ports[0].query_error = EIO;
  machine.add("mlx5_1").query_error = ENODEV;
  machine.add("mlx5_2").ports[0].gid_error = EIO;
  REQUIRE_THAT(why_unusable(machine.look()),
               Contains("mlx5_0 port 1: cannot be queried: Input/output error") &&
                   Contains("mlx5_1: cannot be queried: No such device") &&
                   Contains("mlx5_2 port 1: none of its 16 GIDs can be read"));
}

TEST_CASE("an HCA that the configuration excludes is reported, and not opened") {
  Machine machine;
  machine.add("mlx5_0");
  machine.add("mlx5_1");
  machine.add("mlx5_2");
  const Discovery found = machine.look({.hca = list("mlx5_0,mlx5_2"), .exclude_hca = list("=mlx5_2")});
  REQUIRE(found.usable.ok());
  REQUIRE(found.hcas[0].excluded.empty());
  REQUIRE(found.hcas[1].excluded == "not selected by rdma.hca (NCCL_IB_HCA) = \"mlx5_0,mlx5_2\"");
  REQUIRE(found.hcas[2].excluded == "left out by rdma.exclude_hca = \"=mlx5_2\"");
  REQUIRE(machine.fake.opened == std::vector<std::string>{"mlx5_0"});
}

TEST_CASE("one port of an HCA can be selected or left out, and has the rail and plane that are given to it") {
  Machine machine;
  machine.add("mlx5_0", "", 3);
  const Discovery found =
      machine.look({.hca = list("mlx5_0:1:7:2,mlx5_0:3"), .exclude_hca = list("mlx5_0:3")});
  const auto& ports = found.hcas[0].ports;
  REQUIRE(ports[0].excluded.empty());
  REQUIRE(ports[0].rail_id == 7);
  REQUIRE(ports[0].plane_id == 2);
  REQUIRE_THAT(ports[1].excluded, Contains("not selected by"));
  REQUIRE_THAT(ports[2].excluded, Contains("left out by rdma.exclude_hca"));
}

TEST_CASE("a selection that matches nothing says what there is") {
  Machine machine;
  machine.add("mlx5_0", "", 2);
  machine.add("mlx5_1");
  REQUIRE(
      why_unusable(machine.look({.hca = list("mlx6")})) ==
      "rdma.hca (NCCL_IB_HCA) = \"mlx6\" matches no RDMA port: this host has mlx5_0:1, mlx5_0:2, mlx5_1:1");
  REQUIRE_THAT(why_unusable(machine.look({.hca = list("mlx5_1:2")})), Contains("matches no RDMA port"));
  REQUIRE_THAT(why_unusable(machine.look({.hca = list("mlx5_1"), .exclude_hca = list("mlx5")})),
               Contains("\"mlx5_1\", less rdma.exclude_hca = \"mlx5\" matches no RDMA port"));
  REQUIRE_THAT(why_unusable(machine.look({.exclude_hca = list("mlx5")})),
               Contains("= \"all\", less rdma.exclude_hca = \"mlx5\" matches no RDMA port"));
}

TEST_CASE("a host without RDMA says so, and one whose kernel lacks verbs what to load") {
  Machine machine;
  REQUIRE(why_unusable(machine.look()) == "this host shows no RDMA device");
  machine.fake.list_error = ENOSYS;
  REQUIRE_THAT(why_unusable(machine.look()),
               Contains("cannot list RDMA devices: Function not implemented") && Contains("ib_uverbs"));
}

TEST_CASE("RDMA that is switched off touches nothing") {
  Machine machine;
  machine.add("mlx5_0");
  REQUIRE_THAT(why_unusable(machine.look({.disable = true})),
               Contains("rdma.disable (NCCL_IB_DISABLE) is true"));
  REQUIRE(machine.fake.opened.empty());
}

TEST_CASE("everything that was opened is closed with the discovery, and the list is given back") {
  Machine machine;
  machine.add("mlx5_0");
  machine.add("mlx5_1").query_error = EIO;
  {
    const Discovery found = machine.look();
    REQUIRE(machine.fake.lists == 0);
    REQUIRE(machine.fake.contexts == 1);
  }
  REQUIRE(machine.fake.contexts == 0);
}

TEST_CASE("discovering again sees what has changed") {
  Machine machine;
  FakeHca& hca = machine.add("mlx5_0");
  hca.ports[0].state = IBV_PORT_DOWN;
  REQUIRE_FALSE(machine.look().usable.ok());
  hca.ports[0].state = IBV_PORT_ACTIVE;
  REQUIRE(machine.look().usable.ok());
}
