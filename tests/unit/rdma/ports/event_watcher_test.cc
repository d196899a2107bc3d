// Asynchronous events of devices and their effects.
#include "transport/rdma/ports/event_watcher.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/captured_log.h"
#include "two_hosts.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;
using Catch::Contains;

TEST_CASE("a device that fails, fails the comms on it") {
  TwoHosts hosts;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100);
  hosts.machine.fake.tell(hosts.machine.fake.context_of("mlx5_0"),
                          {.element = {}, .event_type = IBV_EVENT_DEVICE_FATAL});
  REQUIRE_THAT(failure_of([&] { return comms.send->isend(nullptr, 0, 0, nullptr); }).message,
               Contains("mlx5_0: the device has failed"));
}

TEST_CASE("with rdma.return_async_events = false a fatal event is only logged") {
  TwoHosts hosts;
  hosts.sender_wishes.return_async_events = false;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  {
    const tfabric::test::CapturedLog log;
    hosts.machine.fake.tell(hosts.machine.fake.context_of("mlx5_0"),
                            {.element = {}, .event_type = IBV_EVENT_DEVICE_FATAL});
    for (int i = 0; i < 100'000 && log.count("mlx5_0: the device has failed") == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    REQUIRE(log.count("mlx5_0: the device has failed") == 1);
  }
  exchange(hosts, comms, 100);
}

TEST_CASE("a new address is used by comms from then on") {
  TwoHosts hosts;
  hosts.open();
  TwoHosts::Comms first = hosts.connect();
  // Another address replaces the port's only one.
  hosts.machine.fake.hcas[0].ports[0].gids = {{3, gid_of("10.0.9.1")}};
  hosts.machine.fake.tell(hosts.machine.fake.context_of("mlx5_0"),
                          {.element = {.port_num = 1}, .event_type = IBV_EVENT_GID_CHANGE});
  const auto seen = [&] {
    TwoHosts::Comms comms = hosts.connect();
    exchange(hosts, comms, 100);
    const auto numbers = hosts.fabric.queue_pairs();
    return std::any_of(numbers.begin(), numbers.end(), [&](std::uint32_t number) {
      return std::bit_cast<Gid>(hosts.fabric.attributes(number).ah_attr.grh.dgid) == gid_of("10.0.9.1");
    });
  };
  bool used = false;
  for (int i = 0; i < 100'000 && !used; ++i) {
    used = seen();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(used);
  exchange(hosts, first, 100);
}

TEST_CASE("comms may be closed while the thread goes on with their meeting") {
  TwoHosts hosts;
  hosts.open();
  for (int i = 0; i < 100; ++i) {
    TwoHosts::Comms comms = hosts.connect();
    std::this_thread::sleep_for(std::chrono::microseconds(37 * (i % 50)));
    comms.send.reset();
  }
  REQUIRE(hosts.fabric.violations.empty());
}
