#include "host/local_addresses.h"

#include <catch2/catch.hpp>

using namespace tfabric::host;

TEST_CASE("this network namespace's addresses have their interface and network") {
  for (const LocalAddress& local : local_addresses()) {
    INFO(local.netdev);
    REQUIRE_FALSE(local.netdev.empty());
    REQUIRE(local.prefix_length <= 128);
    if (local.address == tfabric::config::IpBytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}) {
      REQUIRE(local.prefix_length == 96 + 8);
    }
  }
}
