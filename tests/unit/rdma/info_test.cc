// The RDMA section of `tfabric info`.
#include "tools/info.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace tfabric;
using namespace tfabric::rdma;
using Catch::Contains;
using tools::rdma_json;
using tools::rdma_text;
using tools::to_json;
using tools::to_text;

namespace {

Gid ipv4_gid() { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 5}; }

Port roce_port() {
  Port port{.number = 1,
            .link_layer = LinkLayer::ethernet,
            .state = IBV_PORT_ACTIVE,
            .speed_mbps = 100000,
            .mtu = 4096,
            .netdev = "bond0",
            .bond_members = {"eth2", "eth3"}};
  port.gids = {{.index = 0, .gid = {0xfe, 0x80}, .type = GidType::roce_v1, .netdev = "eth9", .here = false},
               {.index = 3, .gid = ipv4_gid(), .type = GidType::roce_v2, .netdev = "bond0"}};
  port.gid = GidChoice{3, ipv4_gid(), "RoCE v2, IPv4"};
  return port;
}

Discovery two_hcas() {
  Discovery found;
  Hca& used = found.hcas.emplace_back();
  used.name = "mlx5_bond_0";
  used.device_file = "/dev/infiniband/uverbs0";
  used.guid = 0x506b;
  used.pci = {.path = "/sys/devices/0000:3b:00.2",
              .address = "0000:3b:00.2",
              .physical_function = "0000:3b:00.0",
              .numa_node = 1};
  used.gpu_memory = {.peer_module = true, .reason = "by nv_peer_mem"};
  used.ports.push_back(roce_port());
  used.ports.push_back({.number = 2, .excluded = "not selected by rdma.hca"});
  Hca& other = found.hcas.emplace_back();
  other.name = "mlx5_9";
  other.excluded = "cannot be opened: Permission denied";
  return found;
}

}  // namespace

TEST_CASE("the section has each port, why it is used or not, its GIDs and the one that is chosen") {
  REQUIRE(to_text(two_hcas(), {}) ==
          "RDMA: usable\n"
          "  mlx5_bond_0: PCI 0000:3b:00.2 (virtual function of 0000:3b:00.0), NUMA node 1, GPU memory: yes "
          "(by nv_peer_mem)\n"
          "    port 1: RoCE, ACTIVE, 100 Gbit/s, MTU 4096, bond0 (bond of eth2 eth3); used\n"
          "      GID 0 fe80::, RoCE v1, eth9 (not in this network namespace)\n"
          "      GID 3 ::ffff:10.0.0.5, RoCE v2, bond0; chosen: RoCE v2, IPv4\n"
          "    port 2: left out: not selected by rdma.hca\n"
          "  mlx5_9: PCI none; left out: cannot be opened: Permission denied\n"
          "  device mlx5_bond_0:1: the kernel's connection as a life-boat\n");
}

TEST_CASE("each device has the ports that stand in for it") {
  Discovery found;
  for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}) {
    Hca& hca = found.hcas.emplace_back();
    hca.name = name;
    hca.pci.address = std::string("0000:3b:0") + name[5] + ".0";
    hca.ports.push_back({.link_layer = LinkLayer::infiniband, .state = IBV_PORT_ACTIVE});
  }
  CHECK_THAT(
      to_text(found, {}),
      Contains(
          "  device mlx5_0:1: mlx5_1:1 and mlx5_2:1 in reserve, the kernel's connection as a life-boat\n") &&
          Contains("  device mlx5_3:1: mlx5_0:1 and mlx5_1:1 in reserve"));
  CHECK(to_json(found, {})["devices"][1]["reserve"] == std::vector<std::string>{"mlx5_2:1", "mlx5_3:1"});
  config::Config with;
  with.tcp.rails = {{.name = "eth1", .kind = config::RailKind::pci, .device = "0000:00:10.0"},
                    {.name = "eth2", .kind = config::RailKind::af_packet, .device = "eth2"},
                    {.name = "local", .kind = config::RailKind::memif},
                    {.name = "boat", .kind = config::RailKind::kernel, .device = "eth0"}};
  CHECK_THAT(to_text(found, with),
             Contains("  device mlx5_0:1: mlx5_1:1 and mlx5_2:1, then TCP over eth1 and "
                      "eth2 in reserve, the kernel's connection as a life-boat\n"));
  CHECK(to_json(found, with)["devices"][1]["tcp"] == std::vector<std::string>{"eth1", "eth2"});
  config::Config without = with;
  without.tcp.reserve = false;
  CHECK_THAT(to_text(found, without), !Contains("in reserve"));
}

TEST_CASE("an InfiniBand port has its LID") {
  Discovery found;
  found.hcas.emplace_back().ports.push_back(
      {.link_layer = LinkLayer::infiniband, .state = IBV_PORT_ACTIVE, .lid = 17});
  REQUIRE_THAT(to_text(found, {}), Contains("InfiniBand, ACTIVE, 0 Gbit/s, MTU 0, LID 17; used"));
}

TEST_CASE("JSON has the same content") {
  const auto json = to_json(two_hcas(), {});
  REQUIRE(json["usable"] == true);
  REQUIRE(json["hcas"].size() == 2);
  REQUIRE(json["hcas"][0]["gpu_memory"]["peer_module"] == true);
  const auto& port = json["hcas"][0]["ports"][0];
  REQUIRE(port["used"] == true);
  REQUIRE(port["gid"]["index"] == 3);
  REQUIRE(port["gids"][0]["in_network_namespace"] == false);
  REQUIRE(port["bond_members"].size() == 2);
  REQUIRE(json["hcas"][0]["ports"][1]["left_out"] == "not selected by rdma.hca");
  REQUIRE(json["hcas"][1]["left_out"] == "cannot be opened: Permission denied");
}

TEST_CASE("the reason is shown if no port can be used") {
  Discovery found;
  found.usable = Error{Errc::unusable, "this host shows no RDMA device"};
  REQUIRE(to_text(found, {}) == "RDMA: not usable: this host shows no RDMA device\n");
  REQUIRE(to_json(found, {})["reason"] == "this host shows no RDMA device");
  const Result<config::Config> wrong = Error{Errc::invalid_usage, "bad"};
  REQUIRE_THAT(rdma_text(wrong), Contains("not looked for, since the configuration is wrong"));
  REQUIRE(rdma_json(wrong)["usable"] == false);
}

TEST_CASE("this host is examined without an error, whatever it has") {
  config::Config config;
  REQUIRE_THAT(rdma_text(config), Contains("RDMA: "));
  REQUIRE(rdma_json(config).contains("usable"));
}
