// Two ranks whose queue pairs are connected by rdma_cm, over a fake of it.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <tuple>

#include "fake_connection_manager.h"
#include "tests/unit/rdma/ports/two_hosts.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;
using Catch::Contains;

namespace {

struct Managed : TwoHosts {
  Managed() {
    manager.port_of = [this](const Gid& gid) {
      const bool first = gid == gid_of("10.0.0.1");
      return FakeConnectionManager::Port{.context = &machine.fake.context_of(first ? "mlx5_0" : "mlx5_1"),
                                         .number = port_number};
    };
    sender_manager = receiver_manager = manager.library();
  }
  ~Managed() {
    sending.reset();
    receiving.reset();
  }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;

  // The errors of the ranks if they cannot connect.
  struct Faults {
    std::string sender, receiver;
  };
  Faults faults() {
    open();
    const Half half = offer();
    std::unique_ptr<transport::RecvComm> receive;
    transport::Request* request = nullptr;
    Faults faults;
    faults.receiver = failure_of([&]() -> Result<bool> {
                        if (receive != nullptr) {
                          return receive_nothing(*receive, request);
                        }
                        auto accepted = half.listener->accept();
                        if (!accepted) {
                          return accepted.error();
                        }
                        receive = std::move(*accepted);
                        return false;
                      }).message;
    transport::Request* send = nullptr;
    faults.sender = failure_of([&] { return send_nothing(*half.send, send); }).message;
    return faults;
  }

  FakeConnectionManager manager;
  std::uint8_t port_number = 1;
};

}  // namespace

TEST_CASE("rdma_cm connects the queue pairs of two ranks, and nothing of it is left behind") {
  const unsigned qps = GENERATE(1u, 4u);
  Managed hosts;
  hosts.sender_wishes.qps = hosts.receiver_wishes.qps = qps;
  hosts.sender_wishes.split = true;
  hosts.open();
  {
    TwoHosts::Comms comms = hosts.connect();
    exchange(hosts, comms, 100000);
    exchange(hosts, comms, 0);
    CHECK(hosts.manager.established() == static_cast<int>(qps));
    for (const std::uint32_t number : hosts.fabric.queue_pairs()) {
      // The service level is the route's, the others are the comm's.
      CHECK(hosts.fabric.attributes(number).ah_attr.sl == 3);
      CHECK(hosts.fabric.attributes(number).timeout == 20);
      CHECK(hosts.fabric.attributes(number).min_rnr_timer == 12);
    }
  }
  CHECK(hosts.manager.ids() == 0);
  CHECK(hosts.manager.channels() == 0);
  CHECK(hosts.manager.violations().empty());
}

TEST_CASE("a receiver that flushes has its own queue pair for that also with rdma_cm") {
  Managed hosts;
  hosts.receiver_wishes.gdr = config::Switch::on;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100);
  REQUIRE(hosts.fabric.queue_pairs().size() == 3);
  REQUIRE(hosts.manager.established() == 1);
}

TEST_CASE("a service level and a traffic class that are configured are used instead of the route's") {
  Managed hosts;
  hosts.sender_wishes.service_level = 5;
  hosts.sender_wishes.traffic_class = 106;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100);
  for (const std::uint32_t number : hosts.fabric.queue_pairs()) {
    CHECK(hosts.fabric.attributes(number).ah_attr.sl == 5);
    CHECK(hosts.fabric.attributes(number).ah_attr.grh.traffic_class == 106);
  }
  CHECK(hosts.manager.last_traffic_class == 106);
}

TEST_CASE("where one rank has no rdma_cm, or cannot listen, queue pairs are connected without") {
  Managed hosts;
  SECTION("the sender") { hosts.sender_manager.reset(); }
  SECTION("the receiver") { hosts.receiver_manager.reset(); }
  SECTION("a receiver that has no channel") { hosts.manager.channel_error = ENODEV; }
  SECTION("a receiver that cannot listen") { hosts.manager.listen_error = EADDRINUSE; }
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 1000);
  REQUIRE(hosts.manager.established() == 0);
}

TEST_CASE("requests without the token are rejected, and disturb nothing") {
  Managed hosts;
  hosts.manager.stranger.assign(GENERATE(1u, 56u), std::byte{0x5a});
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 1000);
  REQUIRE(hosts.manager.rejections() == 1);
  REQUIRE(hosts.manager.established() == 1);
}

TEST_CASE("both ranks report what rdma_cm cannot do, and what to check") {
  const auto [instead_of, told, status, text] =
      GENERATE(table<rdma_cm_event_type, rdma_cm_event_type, int, std::string>(
          {{RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH,
            "No route to host; does the RDMA"},
           {RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT,
            "does the subnet manager run?"},
           {RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, "UDP port 4791"},
           {RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_REJECTED, 8, "reason 8 (no process listens"},
           {RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_REJECTED, 28, "reason 28 (by the peer's rank"},
           {RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL, "cannot be made: Invalid"},
           {RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_DEVICE_REMOVAL, 0,
            "the device is being removed"}}));
  Managed hosts;
  hosts.manager.instead[instead_of] = {.type = told, .status = status};
  const Managed::Faults faults = hosts.faults();
  CHECK_THAT(faults.sender, Contains("queue pair 0x") && Contains("mlx5_0:1") && Contains(text));
  CHECK_THAT(faults.receiver, Contains("the sending rank") && Contains(text));
}

TEST_CASE("both ranks report failed calls of rdma_cm") {
  Managed hosts;
  std::string text;
  SECTION("an address without a port") {
    hosts.manager.resolve_error = EADDRNOTAVAIL;
    text = "rdma_resolve_addr fails: Cannot assign requested address";
  }
  SECTION("no attributes") {
    hosts.manager.attribute_error = EINVAL;
    text = "rdma_init_qp_attr fails: Invalid argument";
  }
  SECTION("no acceptance") {
    hosts.manager.accept_error = ENOMEM;
    text = "rdma_accept fails: Cannot allocate memory";
  }
  SECTION("another port than the comm's") {
    hosts.port_number = 2;
    text = "the connection manager takes mlx5_1:2 instead of mlx5_1:1";
  }
  const Managed::Faults faults = hosts.faults();
  CHECK_THAT(faults.sender, Contains(text));
  CHECK_THAT(faults.receiver, Contains(text));
}

TEST_CASE("a connection manager that does not answer is waited for as long as is configured") {
  Managed hosts;
  hosts.sender_wishes.connect_timeout = std::chrono::milliseconds(300);
  hosts.manager.silent = RDMA_CM_EVENT_ROUTE_RESOLVED;
  const Managed::Faults faults = hosts.faults();
  CHECK_THAT(faults.sender, Contains("within 300 ms (rdma.connect_timeout_ms)"));
  CHECK_THAT(faults.receiver, Contains("within 300 ms"));
}
