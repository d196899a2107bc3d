// Asynchronous events of devices and their effects.
#include "transport/rdma/ports/event_watcher.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

#include "tests/captured_log.h"
#include "two_hosts.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;

namespace {

void tell(TwoHosts& hosts, const std::string& hca, ibv_event_type type) {
  hosts.machine.fake.tell(hosts.machine.fake.context_of(hca),
                          {.element = {.port_num = 1}, .event_type = type});
}

}  // namespace

TEST_CASE("comms go on over the kernel's connection when a device has failed") {
  TwoHosts hosts;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100);
  const bool told = GENERATE(false, true);  // otherwise the peer's adapter, and what is asked, show it
  hosts.network.kill(hosts.machine.fake.context_of("mlx5_0"));
  if (told) {
    tell(hosts, "mlx5_0", IBV_EVENT_DEVICE_FATAL);
  }
  exchange(hosts, comms, 100'000);
  TwoHosts::Comms more = hosts.connect();
  exchange(hosts, more, 1000);
}

TEST_CASE("with rdma.return_async_events = false a fatal event is only logged") {
  TwoHosts hosts;
  hosts.sender_wishes.return_async_events = false;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100);
  {
    const tfabric::test::CapturedLog log;
    tell(hosts, "mlx5_0", IBV_EVENT_DEVICE_FATAL);
    REQUIRE(eventually([&] { return log.count("mlx5_0: the device has failed") == 1; }));
  }
  exchange(hosts, comms, 100);
  REQUIRE(hosts.network.connected().size() == 2);
}

TEST_CASE("a port without a link carries nothing until it has one again") {
  TwoHosts hosts;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100);
  hosts.machine.fake.hcas[0].ports[0].state = IBV_PORT_DOWN;
  tell(hosts, "mlx5_0", IBV_EVENT_PORT_ERR);
  REQUIRE(eventually([&] {
    exchange(hosts, comms, 1000);
    return hosts.network.connected().empty();
  }));
  hosts.machine.fake.hcas[0].ports[0].state = IBV_PORT_ACTIVE;
  tell(hosts, "mlx5_0", IBV_EVENT_PORT_ACTIVE);
  REQUIRE(eventually([&] {
    exchange(hosts, comms, 1000);
    return hosts.network.connected().size() == 2;
  }));
}

TEST_CASE("a new address is used by comms from then on") {
  TwoHosts hosts;
  hosts.open();
  TwoHosts::Comms first = hosts.connect();
  // Another address replaces the port's only one.
  hosts.machine.fake.hcas[0].ports[0].gids = {{3, gid_of("10.0.9.1")}};
  tell(hosts, "mlx5_0", IBV_EVENT_GID_CHANGE);
  REQUIRE(eventually([&] {
    TwoHosts::Comms comms = hosts.connect();
    exchange(hosts, comms, 100);
    const auto pairs = hosts.network.connected();
    return std::any_of(pairs.begin(), pairs.end(), [](const ibv_qp_attr& pair) {
      return std::bit_cast<Gid>(pair.ah_attr.grh.dgid) == gid_of("10.0.9.1");
    });
  }));
  exchange(hosts, first, 100);
}

TEST_CASE("comms may be closed while their queue pairs are being made") {
  TwoHosts hosts;
  hosts.open();
  for (int i = 0; i < 50; ++i) {
    TwoHosts::Comms comms = hosts.connect();
    std::this_thread::sleep_for(std::chrono::microseconds(37 * (i % 50)));
    comms.send.reset();
  }
  REQUIRE(hosts.network.violations().empty());
}
