#include "transport/rdma/meeting/own_offer.h"

#include <catch2/catch.hpp>

#include "rails.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::meeting;
using Catch::Contains;

TEST_CASE("a discovered port is offered with what a peer must know of it") {
  Hca hca;
  hca.name = "mlx5_0";
  hca.guid = 0x1234;
  Port port;
  port.number = 2;
  port.link_layer = LinkLayer::infiniband;
  port.lid = 7;
  port.mtu = 4096;
  port.speed_mbps = 400000;
  port.rail_id = 3;
  port.plane_id = 1;
  const GidEntry gid{.gid = ip("fe80::9"), .type = GidType::infiniband, .prefix_length = 64};
  const OfferedRail rail = rail_of(hca, port, gid, {});
  REQUIRE(fault_of(std::vector{rail}).empty());
  REQUIRE(rail == OfferedRail{.hca = "mlx5_0",
                              .port = 2,
                              .link_layer = LinkLayer::infiniband,
                              .guid = 0x1234,
                              .lid = 7,
                              .gid = ip("fe80::9"),
                              .gid_type = GidType::infiniband,
                              .prefix_length = 64,
                              .mtu = 4096,
                              .speed_mbps = 400000,
                              .rail_id = 3,
                              .plane_id = 1});
}

TEST_CASE("a configured MTU makes the port's smaller, and never larger") {
  Port port;
  port.mtu = 1024;
  config::Rdma wishes;
  wishes.mtu = 512;
  REQUIRE(rail_of({}, port, {}, wishes).mtu == 512);
  wishes.mtu = 4096;
  REQUIRE(rail_of({}, port, {}, wishes).mtu == 1024);
}

TEST_CASE("traffic class and service level are the configuration's, else the communicator's, else 0") {
  REQUIRE(traffic_class_of(-1, -1) == 0);
  REQUIRE(traffic_class_of(-1, 5) == 5);
  REQUIRE(traffic_class_of(-1, 1000) == 255);
  REQUIRE(traffic_class_of(106, 5) == 106);
  REQUIRE(service_level_of(-1, -1) == 0);
  REQUIRE(service_level_of(-1, 1000) == 15);
  REQUIRE(service_level_of(3, 5) == 3);
}
