#include "transport/rdma/meeting/offered_rail.h"

#include <catch2/catch.hpp>
#include <functional>

#include "rails.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::meeting;
using Catch::Contains;

TEST_CASE("an invalid field of a rail is named") {
  using Rails = std::vector<OfferedRail>;
  const std::vector<std::pair<std::function<void(Rails&)>, std::string>> faults{
      {[](Rails& rails) { rails.clear(); }, "0 rails"},
      {[](Rails& rails) { rails.resize(9, rails[0]); }, "9 rails"},
      {[](Rails& rails) { rails[1].hca = "a b"; }, "rail 1: its name"},
      {[](Rails& rails) { rails[1].hca.clear(); }, "rail 1: its name"},
      {[](Rails& rails) { rails[1].port = 0; }, "rail 1: its name"},
      {[](Rails& rails) { rails[0].gid_type = GidType::infiniband; }, "link layer 2"},
      {[](Rails& rails) { rails[0].link_layer = LinkLayer::unspecified; }, "link layer 0"},
      {[](Rails& rails) { rails[0].mtu = 1500; }, "MTU 1500"},
      {[](Rails& rails) { rails[0].prefix_length = 129; }, "prefix length 129"},
      {[](Rails& rails) { rails[0].rail_id = -2; }, "rail -2"},
      {[](Rails& rails) { rails[0].plane_id = -2; }, "plane -2"},
  };
  for (const auto& [change, expected] : faults) {
    Rails rails{roce_rail("mlx5_0", "10.0.0.5"), infiniband_rail("mlx5_1", "fe80::")};
    REQUIRE(fault_of(rails).empty());
    change(rails);
    REQUIRE_THAT(fault_of(rails), Contains(expected));
  }
}

TEST_CASE("a rail is described by the properties that decide on its partner") {
  REQUIRE(describe(with_rail_id(roce_rail("mlx5_0", "10.0.1.5"), 3)) ==
          "mlx5_0:1 (RoCE, GID ::ffff:10.0.1.5, RoCE v2, rail 3)");
  REQUIRE(describe(infiniband_rail("mlx5_1", "fe80::")) == "mlx5_1:1 (InfiniBand, GID fe80::9)");
}
