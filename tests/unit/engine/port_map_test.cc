#include "transport/tcp/engine/port_map.h"

#include <catch2/catch.hpp>

namespace tfabric::engine {

TEST_CASE("engines share the ports out evenly, and each port says whose it is") {
  const PortMap ports(50000, 1000, 3, 0);
  for (std::uint16_t e = 0; e < 3; ++e) {
    CHECK(ports.count_of(e) == 333);
    CHECK(ports.listening_of(e) == 0);
    CHECK(ports.owner(ports.first_of(e)) == e);
    CHECK(ports.owner(static_cast<std::uint16_t>(ports.first_of(e) + 332)) == e);
  }
  for (const int nobodys : {0, 1, 49999, 50999, 51000, 65535}) {
    CHECK_FALSE(ports.owner(static_cast<std::uint16_t>(nobodys)));
  }
}

TEST_CASE("a given listening port is the first engine's, and the next ones those of the others") {
  const PortMap apart(50000, 1000, 2, 4000);
  CHECK(apart.listening_of(0) == 4000);
  CHECK(apart.listening_of(1) == 4001);
  CHECK(apart.owner(4000) == 0);
  CHECK(apart.owner(4001) == 1);
  CHECK_FALSE(apart.owner(4002));
  CHECK_FALSE(apart.owner(3999));
}

TEST_CASE("a listening port within the range of another engine is its listener's") {
  const PortMap within(50000, 1000, 2, 50010);
  CHECK(within.owner(50009) == 0);
  CHECK(within.owner(50010) == 0);
  CHECK(within.owner(50011) == 1);
  CHECK(within.owner(50012) == 0);
  CHECK(within.owner(50500) == 1);
}

TEST_CASE("the last ports there are can be shared out") {
  const PortMap ports(49152, 16384, 16, 65520);
  CHECK(ports.owner(65535) == 15);
  CHECK(ports.owner(65520) == 0);
  CHECK(ports.owner(65519) == 15);
}

}  // namespace tfabric::engine
