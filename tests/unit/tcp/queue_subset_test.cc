#include "transport/rails/queue_subset.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::rails;

TEST_CASE("an interface's queues divide the ports evenly, in their order") {
  const config::PortRange all{.first = 49152, .last = 65535};
  const auto of = [&](std::uint16_t first, std::uint16_t count, std::uint32_t channels) {
    const config::PortRange own = ports_of(all, {.first = first, .count = count}, channels);
    return std::pair(own.first, own.last);
  };
  REQUIRE(of(0, 1, 1) == std::pair<std::uint16_t, std::uint16_t>(49152, 65535));
  REQUIRE(of(0, 1, 4) == std::pair<std::uint16_t, std::uint16_t>(49152, 53247));
  REQUIRE(of(3, 1, 4) == std::pair<std::uint16_t, std::uint16_t>(61440, 65535));
  REQUIRE(of(2, 2, 4) == std::pair<std::uint16_t, std::uint16_t>(57344, 65535));
  REQUIRE(of(2, 1, 3) == std::pair<std::uint16_t, std::uint16_t>(60074, 65534));
}

TEST_CASE("a process without queue subsets has all ports") {
  config::Tcp process;
  process.rails = {{.name = "a", .kind = config::RailKind::af_xdp, .device = "eth1"}, {.name = "b"}};
  const auto ports = ports_of(process);
  REQUIRE(ports);
  REQUIRE((ports->first == 49152 && ports->last == 65535));
}

TEST_CASE("a process whose rails have different queues fails with how to list them") {
  config::Tcp process;
  process.rails = {
      {.name = "a", .kind = config::RailKind::af_xdp, .device = "none0", .queues = {.first = 0, .count = 1}},
      {.name = "b", .kind = config::RailKind::af_xdp, .device = "none1", .queues = {.first = 0, .count = 1}}};
  REQUIRE(ports_of(process));
  process.local_ports.last = 50000;
  process.rails[1].queues.first = 1;
  const auto different = ports_of(process);
  REQUIRE_FALSE(different);
  REQUIRE_THAT(different.error().message, Catch::Contains("rails a and b"));
  process.rails.pop_back();
  process.local_ports.last = 49152 + 254;
  const auto few = ports_of(process);
  REQUIRE_FALSE(few);
  REQUIRE_THAT(few.error().message, Catch::Contains("each needs 256"));
}
