#include "transport/rdma/ports/port_plan.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::rdma;
using Devices = std::vector<DevicePorts>;

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
  const std::vector<PlannedPort> ports{{.card = "a"},
                                       {.card = "a"},
                                       {.card = "b"},
                                       {.card = "b", .link_layer = LinkLayer::infiniband},
                                       {.card = "a", .function = Function::data_direct},
                                       {.card = "a", .function = Function::data_direct}};
  const auto own = [&](config::Switch bond) {
    std::vector<std::vector<std::size_t>> own;
    for (const DevicePorts& device : plan_devices(ports, bond, /*reserve=*/false)) {
      CHECK(device.reserve.empty());
      own.push_back(device.own);
    }
    return own;
  };
  using Own = std::vector<std::vector<std::size_t>>;
  CHECK(own(config::Switch::automatic) == Own{{0, 1}, {2}, {3}, {4, 5}});
  CHECK(own(config::Switch::on) == Own{{0, 1, 2}, {3}, {4, 5}});
  CHECK(own(config::Switch::off) == Own{{0}, {1}, {2}, {3}, {4}, {5}});
}

TEST_CASE("a device has four ports at most, and two of these in reserve") {
  const std::vector<PlannedPort> ports(9, PlannedPort{.card = "a"});
  CHECK(plan_devices(ports, config::Switch::automatic, /*reserve=*/true) ==
        Devices{{{0, 1, 2, 3}, {}}, {{4, 5, 6, 7}, {}}, {{8}, {0, 4}}});
}

TEST_CASE("the devices behind one stand in for it, with a port each, if they are of its kind") {
  const std::vector<PlannedPort> alike{{.card = "a"}, {.card = "b"}, {.card = "c"}, {.card = "d"}};
  CHECK(plan_devices(alike, config::Switch::automatic, /*reserve=*/true) ==
        Devices{{{0}, {1, 2}}, {{1}, {2, 3}}, {{2}, {3, 0}}, {{3}, {0, 1}}});
  const std::vector<PlannedPort> pairs{{.card = "a"}, {.card = "a"}, {.card = "b"}, {.card = "b"}};
  CHECK(plan_devices(pairs, config::Switch::automatic, /*reserve=*/true) ==
        Devices{{{0, 1}, {2}}, {{2, 3}, {0}}});

  const std::vector<PlannedPort> unlike{{.card = "a", .link_layer = LinkLayer::infiniband},
                                        {.card = "b"},
                                        {.card = "c", .memory_kinds = 3},
                                        {.card = "c", .function = Function::data_direct, .memory_kinds = 3}};
  CHECK(plan_devices(unlike, config::Switch::automatic, /*reserve=*/true) ==
        Devices{{{0}, {}}, {{1}, {2}}, {{2}, {}}, {{3}, {}}});
}
