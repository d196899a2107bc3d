#include "transport/rdma/discovery/gid.h"

#include <catch2/catch.hpp>
#include <cerrno>

#include "fake_sysfs.h"
#include "fake_verbs.h"

using namespace tfabric;
using namespace tfabric::rdma;
using Catch::Contains;

namespace {

std::vector<tfabric::host::LocalAddress> one_address(const std::string& netdev, const std::string& address,
                                                     unsigned length) {
  return {{.netdev = netdev, .address = gid_of(address), .prefix_length = length}};
}

}  // namespace

TEST_CASE("a GID's scope is that of the address that it is") {
  REQUIRE(scope_of(gid_of("10.0.0.5")) == GidScope::ipv4);
  REQUIRE(scope_of(gid_of("169.254.3.4")) == GidScope::link_local4);
  REQUIRE(scope_of(gid_of("fd00::5")) == GidScope::global6);
  REQUIRE(scope_of(gid_of("2001:db8::5")) == GidScope::global6);
  REQUIRE(scope_of(gid_of("fe80::1")) == GidScope::link_local6);
  REQUIRE(to_string(gid_of("10.0.0.5")) == "::ffff:10.0.0.5");
}

TEST_CASE("the table has the entries that are not empty, with type and interface") {
  FakePort port{.table_length = 8};
  const Gid of_mac = gid_of("fe80::526b:4bff:feaa:bbcc");
  port.gids = {{0, of_mac}, {1, of_mac}, {5, gid_of("10.0.0.5")}};
  port.empty_slots_fail = GENERATE(false, true);
  FakeVerbs fake({FakeHca{.ports = {port}}});
  const FakeSysfs tree;
  tree.add_gid("mlx5_0", 1, 0, "IB/RoCE v1", "eth2");
  tree.add_gid("mlx5_0", 1, 1, "RoCE v2", "eth2");
  tree.add_gid("mlx5_0", 1, 5, "RoCE v2", "eth2");
  tree.write("class/net/eth2/address", "50:6b:4b:aa:bb:cc");
  const ContextHandle context = fake.open(0);
  const auto addresses = one_address("eth2", "10.0.0.5", 96 + 24);
  const auto table = read_gid_table(fake.verbs(), *context, tree.sysfs(), addresses,
                                    {.hca = "mlx5_0", .port = 1, .table_length = 8});
  REQUIRE(table.ok());
  REQUIRE(table->size() == 3);
  REQUIRE((*table)[0].type == GidType::roce_v1);
  REQUIRE((*table)[0].prefix_length == 64);
  REQUIRE((*table)[0].here);
  REQUIRE((*table)[1].type == GidType::roce_v2);
  REQUIRE((*table)[2].index == 5);
  REQUIRE((*table)[2].netdev == "eth2");
  REQUIRE((*table)[2].here);
  REQUIRE((*table)[2].prefix_length == 96 + 24);
}

TEST_CASE("a table of a thousand empty slots costs one query each, and no file") {
  FakePort port{.table_length = 1024};
  port.gids = {{1023, gid_of("10.0.0.5")}};
  FakeVerbs fake({FakeHca{.ports = {port}}});
  const ContextHandle context = fake.open(0);
  const auto table = read_gid_table(fake.verbs(), *context, tfabric::host::Sysfs("/nowhere"), {},
                                    {.hca = "rxe0", .port = 1, .table_length = 1024});
  REQUIRE(fake.gid_queries == 1024);
  REQUIRE(table->size() == 1);
  REQUIRE((*table)[0].index == 1023);
}

TEST_CASE(
    "a GID whose address or interface is in another network namespace is distinguished from those of this "
    "one") {
  FakePort port;
  port.gids = {{0, gid_of("fe80::1")}, {1, gid_of("10.0.0.5")}, {2, gid_of("10.0.0.6")}};
  FakeVerbs fake({FakeHca{.ports = {port}}});
  const FakeSysfs tree;
  for (int index = 0; index < 3; ++index) tree.add_gid("mlx5_0", 1, index, "RoCE v2", "eth2");
  const ContextHandle context = fake.open(0);
  // This namespace has the address of GID 2 on eth3, and another eth2.
  tree.write("class/net/eth2/address", "02:00:00:00:00:99");
  const auto addresses = one_address("eth3", "10.0.0.6", 120);
  const auto table = read_gid_table(fake.verbs(), *context, tree.sysfs(), addresses,
                                    {.hca = "mlx5_0", .port = 1, .table_length = 3});
  REQUIRE(table->size() == 3);
  for (const GidEntry& entry : *table) {
    INFO(entry.index);
    REQUIRE_FALSE(entry.here);
  }
}

TEST_CASE("on InfiniBand every GID is the port's, whatever the files say") {
  FakePort port{.link_layer = LinkLayer::infiniband};
  port.gids = {{0, gid_of("fe80::506b:4b03:1:2")}};
  FakeVerbs fake({FakeHca{.ports = {port}}});
  const FakeSysfs tree;
  tree.add_gid("mlx5_0", 1, 0, "IB/RoCE v1", "");
  const ContextHandle context = fake.open(0);
  const auto table =
      read_gid_table(fake.verbs(), *context, tree.sysfs(), {},
                     {.hca = "mlx5_0", .port = 1, .link_layer = LinkLayer::infiniband, .table_length = 4});
  REQUIRE(table->at(0).type == GidType::infiniband);
  REQUIRE(table->at(0).here);
}

TEST_CASE("a table that cannot be read at all is an error, one without GIDs is none") {
  FakePort port{.gid_error = EIO};
  FakeVerbs fake({FakeHca{.ports = {port}}});
  const ContextHandle context = fake.open(0);
  const GidSource source{.hca = "mlx5_0", .port = 1, .table_length = 4};
  const auto broken = read_gid_table(fake.verbs(), *context, tfabric::host::Sysfs("/nowhere"), {}, source);
  REQUIRE_FALSE(broken.ok());
  REQUIRE_THAT(broken.error().message, Contains("none of its 4 GIDs can be read: Input/output error"));
  fake.hcas[0].ports[0].gid_error = ENODATA;
  REQUIRE(read_gid_table(fake.verbs(), *context, tfabric::host::Sysfs("/nowhere"), {}, source)->empty());
}

TEST_CASE("reading again shows what a link flap has changed") {
  FakePort port;
  port.gids = {{1, gid_of("10.0.0.5")}};
  FakeVerbs fake({FakeHca{.ports = {port}}});
  const ContextHandle context = fake.open(0);
  const GidSource source{.hca = "mlx5_0", .port = 1, .table_length = 16};
  REQUIRE(read_gid_table(fake.verbs(), *context, tfabric::host::Sysfs("/nowhere"), {}, source)->at(0).index ==
          1);
  fake.hcas[0].ports[0].gids = {{3, gid_of("10.0.0.5")}};
  REQUIRE(read_gid_table(fake.verbs(), *context, tfabric::host::Sysfs("/nowhere"), {}, source)->at(0).index ==
          3);
}

TEST_CASE("a table's length that makes no sense is bounded") {
  FakeVerbs fake({FakeHca{}});
  const ContextHandle context = fake.open(0);
  const auto table = read_gid_table(fake.verbs(), *context, tfabric::host::Sysfs("/nowhere"), {},
                                    {.hca = "mlx5_0", .port = 1, .table_length = -5});
  REQUIRE(table->empty());
  REQUIRE(fake.gid_queries == 0);
}
