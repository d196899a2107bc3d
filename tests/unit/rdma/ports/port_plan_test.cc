#include "transport/rdma/ports/port_plan.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::rdma;
using Devices = std::vector<std::vector<std::size_t>>;

namespace {

Hca hca(const std::string& address, const std::string& physical = {}) {
  Hca made;
  made.name = "mlx5_0";
  made.pci.address = address;
  made.pci.physical_function = physical;
  return made;
}

}  // namespace

TEST_CASE("the functions of a card, and the virtual functions of these, are of one card") {
  CHECK(card_of(hca("0000:3b:00.0")) == card_of(hca("0000:3b:00.1")));
  CHECK(card_of(hca("0000:3b:00.0")) != card_of(hca("0000:3c:00.0")));
  CHECK(card_of(hca("0000:3b:02.5", "0000:3b:00.1")) == card_of(hca("0000:3b:00.0")));
  CHECK(card_of(hca("")) == "mlx5_0");  // as soft-RoCE
}

TEST_CASE("ports of a card are one device unless the configuration says otherwise") {
  const std::vector<BondedPort> ports{{.card = "a"},
                                      {.card = "a"},
                                      {.card = "b"},
                                      {.card = "b", .link_layer = LinkLayer::infiniband},
                                      {.card = "a", .data_direct = true},
                                      {.card = "a", .data_direct = true}};
  CHECK(bond_ports(ports, config::Switch::automatic) == Devices{{0, 1}, {2}, {3}, {4, 5}});
  CHECK(bond_ports(ports, config::Switch::on) == Devices{{0, 1, 2}, {3}, {4, 5}});
  CHECK(bond_ports(ports, config::Switch::off) == Devices{{0}, {1}, {2}, {3}, {4}, {5}});
}

TEST_CASE("a device has four ports at most") {
  const std::vector<BondedPort> ports(9, BondedPort{.card = "a"});
  CHECK(bond_ports(ports, config::Switch::automatic) == Devices{{0, 1, 2, 3}, {4, 5, 6, 7}, {8}});
}
