// Comms whose rail is a device that is reset, or removed, while messages are on it.
#include <catch2/catch.hpp>
#include <string>

#include "tests/captured_log.h"
#include "tests/unit/nic/driver_event.h"
#include "tests/unit/nic/ring_device.h"
#include "tests/unit/tcp/comm_pair.h"

using namespace tfabric;

using namespace tfabric::comm::test;
using namespace std::chrono_literals;
using Catch::Contains;

TEST_CASE("a rail whose device is reset loses no byte, and carries again after it") {
  const tfabric::test::CapturedLog log;
  const std::string device = nic::ring_device();
  World world({.piece_bytes = 4096, .outage = 60s}, {}, {}, nullptr, device);
  Pair pair(world);
  pair.exchange(1'000'000);
  for (std::uint64_t reset = 1; reset <= 3; ++reset) {
    Pair::Message& message = pair.begin(3'000'000);
    nic::report(device, RTE_ETH_EVENT_INTR_RESET);
    pair.finish(message);
    REQUIRE(world.until([&] { return pair.send->counters().joined == 1 + reset; }));
    CHECK(pair.send->counters().buried == reset);
    CHECK_FALSE(world.links[0]->is_away());
    pair.exchange(1'000'000);
  }
  CHECK_FALSE(pair.receive->failed());
  CHECK(log.count("rail pair0: the NIC asks for a reset") == 3);
  CHECK(log.count("rail pair0: " + device + " works again") == 3);
  CHECK(log.count(": the NIC asks for a reset; messages go on over the others") >= 1);
}

TEST_CASE("a rail whose device is removed is left, and carries again when the device is found") {
  const tfabric::test::CapturedLog log;
  const std::string device = nic::ring_device();
  World world({.piece_bytes = 4096, .outage = 60s}, {}, {}, nullptr, device);
  Pair pair(world);
  Pair::Message& message = pair.begin(3'000'000);
  nic::report(device, RTE_ETH_EVENT_INTR_RMV);
  pair.finish(message);
  REQUIRE(world.until([&] { return pair.send->counters().joined == 2; }));
  CHECK(pair.send->counters().buried == 1);
  pair.exchange(1'000'000);
  CHECK(log.count("rail pair0: the NIC is gone") == 1);
}

TEST_CASE("messages wait for the only rail while its device is reset") {
  const std::string device = nic::ring_device();
  World world({.piece_bytes = 4096, .outage = 60s}, {}, {}, nullptr, device);
  Pair pair(world);
  world.cut(1, CutWire::State::no_link);
  pair.exchange(100'000);
  Pair::Message& message = pair.begin(3'000'000);
  nic::report(device, RTE_ETH_EVENT_INTR_RESET);
  pair.finish(message);
  CHECK_FALSE(pair.receive->failed());
}

TEST_CASE("a rail whose device its driver recovers is away until that has ended") {
  const std::string device = nic::ring_device();
  World world({.piece_bytes = 4096, .outage = 60s}, {}, {}, nullptr, device);
  Pair pair(world);
  Pair::Message& message = pair.begin(3'000'000);
  nic::report(device, RTE_ETH_EVENT_ERR_RECOVERING);
  pair.finish(message);
  REQUIRE(world.until([&] { return world.links[0]->is_away(); }));
  CHECK_THAT(world.links[0]->why_away(monotonic_now()), Contains("its driver is recovering the NIC"));
  nic::report(device, RTE_ETH_EVENT_RECOVERY_SUCCESS);
  REQUIRE(world.until([&] { return pair.send->counters().joined == 2; }));
  pair.exchange(1'000'000);
}
