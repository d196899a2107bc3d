// Ports of a device that is reset or removed, with a driver of DPDK's.
#include <rte_mbuf.h>
#include <sched.h>

#include <array>
#include <catch2/catch.hpp>

#include "tests/unit/nic/driver_event.h"
#include "tests/unit/nic/eal_fixture.h"
#include "tests/unit/nic/ring_device.h"
#include "transport/tcp/nic/port.h"

using namespace tfabric;
using namespace tfabric::nic;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

std::unique_ptr<Port> open(const std::string& device) {
  need_eal();
  auto port = Port::open({.name = "ring", .device = device, .mtu = 1500, .rx_buffers = 256});
  INFO((port ? std::string() : port.error().message));
  REQUIRE(port.ok());
  return std::move(*port);
}

// The device gives back what it is given.
bool carries(Port& port) {
  std::array<rte_mbuf*, 1> packet{port.allocate_header()};
  REQUIRE(packet[0] != nullptr);
  REQUIRE(rte_pktmbuf_append(packet[0], 60) != nullptr);
  if (port.transmit(packet) == 0) {
    rte_pktmbuf_free(packet[0]);
    return false;
  }
  const bool back = port.receive(packet) == 1;
  if (back) {
    rte_pktmbuf_free(packet[0]);
  }
  return back;
}

bool opens_again(Port& port) {
  const Instant deadline = monotonic_now() + 120s;
  while (!port.why_closed().empty() && monotonic_now() < deadline) {
    port.attend(monotonic_now());
    sched_yield();
  }
  return port.why_closed().empty();
}

}  // namespace

TEST_CASE("a port whose device asks for a reset is closed, and carries packets after it") {
  const std::string device = ring_device();
  const auto port = open(device);
  REQUIRE(carries(*port));
  const auto capabilities = port->capabilities();
  const auto pool = port->rx_pool();
  report(device, RTE_ETH_EVENT_INTR_RESET);
  CHECK(carries(*port));  // until the port's user attends to it
  port->attend(monotonic_now());
  CHECK(port->why_closed() == "the NIC asks for a reset");
  CHECK_FALSE(port->link_up());
  CHECK_FALSE(carries(*port));
  REQUIRE(opens_again(*port));
  CHECK(port->link_up());
  CHECK(carries(*port));
  CHECK(port->capabilities() == capabilities);
  CHECK(port->rx_pool() == pool);
  report(device, RTE_ETH_EVENT_INTR_RESET);  // events are still noted
  port->attend(monotonic_now());
  CHECK_FALSE(port->why_closed().empty());
}

TEST_CASE("a device that is removed is closed, and used again when it is found") {
  const std::string device = ring_device();
  const auto port = open(device);
  report(device, RTE_ETH_EVENT_INTR_RMV);
  port->attend(monotonic_now());
  CHECK(port->why_closed() == "the NIC is gone");
  CHECK_FALSE(carries(*port));
  REQUIRE(opens_again(*port));
  CHECK(carries(*port));
  report(device, RTE_ETH_EVENT_INTR_RMV);  // of the new device
  port->attend(monotonic_now());
  CHECK(port->why_closed() == "the NIC is gone");
}

TEST_CASE("packets outlive the device that has received them") {
  const std::string device = ring_device();
  const auto port = open(device);
  std::array<rte_mbuf*, 1> packet{port->allocate_payload(1000)};
  REQUIRE(packet[0] != nullptr);
  REQUIRE(rte_pktmbuf_append(packet[0], 1000) != nullptr);
  REQUIRE(port->transmit(packet) == 1);
  REQUIRE(port->receive(packet) == 1);
  report(device, RTE_ETH_EVENT_INTR_RMV);
  port->attend(monotonic_now());
  REQUIRE(opens_again(*port));
  CHECK(rte_pktmbuf_data_len(packet[0]) == 1000);
  rte_pktmbuf_free(packet[0]);
}

TEST_CASE("a driver that recovers its device is waited for") {
  const std::string device = ring_device();
  const auto port = open(device);
  report(device, RTE_ETH_EVENT_ERR_RECOVERING);
  port->attend(monotonic_now());
  CHECK_THAT(port->why_closed(), Contains("recovering"));
  report(device, RTE_ETH_EVENT_RECOVERY_SUCCESS);
  REQUIRE(opens_again(*port));
  CHECK(carries(*port));
}

TEST_CASE("a port may end while its device is being taken care of") {
  const std::string device = ring_device();
  const auto event = GENERATE(RTE_ETH_EVENT_INTR_RESET, RTE_ETH_EVENT_INTR_RMV, RTE_ETH_EVENT_ERR_RECOVERING);
  auto port = open(device);
  report(device, event);
  port->attend(monotonic_now());
  port.reset();
  CHECK(carries(*open(device)));
}

TEST_CASE("a virtual device that takes no packets is not reset") {
  const auto port = open(ring_device());
  port->report_stuck();
  port->attend(monotonic_now());
  CHECK(port->why_closed().empty());
}
