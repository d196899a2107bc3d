#include "transport/lane/flow_failure.h"

#include <array>
#include <catch2/catch.hpp>
#include <optional>

#include "tests/unit/nic/eal_fixture.h"
#include "tests/unit/tcp/flow_watcher.h"
#include "transport/tcp/link/tcp.h"
#include "transport/tcp/nic/shared_wire.h"

using namespace tfabric;

using Catch::Contains;
using namespace std::chrono_literals;

namespace {

const std::array kEnds{*net::parse_ip("10.78.0.1"), *net::parse_ip("10.78.0.2")};

// Two engines, joined by a wire that is a network to them: the other host, and ours, which gives up soon.
struct TwoHosts {
  TwoHosts() {
    nic::need_eal();
    auto made = nic::SharedWire::make();
    REQUIRE(made.ok());
    auto joined = nic::SharedWire::join(made->memory);
    REQUIRE(joined.ok());
    wires = {std::move(made->wire), std::move(*joined)};
    engines[1].set_acceptor(&door);
    add_link(0, /*ends_with_link=*/false);
    add_link(1, /*ends_with_link=*/false);
  }
  void add_link(std::size_t end, bool ends_with_link) {
    auto port = nic::Port::open(
        {.name = "eth1", .device = {}, .pipes = {wires[end]}, .mtu = 1500, .rx_buffers = 512});
    REQUIRE(port.ok());
    auto link = std::make_unique<link::Link>(
        std::move(*port),
        net::InterfaceConfig{.name = "eth1",
                             .mac = {{2, 0, 0, 0, 0, static_cast<std::uint8_t>(end)}},
                             .mtu = 1500,
                             .addresses = {{kEnds[end], 24}},
                             .trusted_wire = true},
        link::LinkOptions{.ends_with_link = ends_with_link});
    links[end] = link.get();
    const engine::Guard guard(engines[end].lock());
    tcps[end]->add_link(std::move(link));
  }
  // Turns both hosts, or ours alone, until `done`.
  template <class Done>
  bool until(const Done& done, bool ours_alone = false) {
    const Instant deadline = monotonic_now() + 120s;
    while (!done()) {
      if (monotonic_now() > deadline) {
        return false;
      }
      for (std::size_t i = 0; i < (ours_alone ? 1 : 2); ++i) {
        const engine::Guard guard(engines[i].lock());
        engines[i].turn();
      }
    }
    return true;
  }
  void connect() {
    const engine::Guard guard(engines[0].lock());
    flow = tcps[0]->connect(*links[0], kEnds[1], tcps[1]->port(), &handler, 0);
    REQUIRE(flow != nullptr);
  }

  static link::Options options() {
    link::Options made;
    made.tcp.user_timeout = 300ms;
    return made;
  }
  std::array<std::shared_ptr<nic::SharedWire>, 2> wires;
  comm::test::FlowWatcher handler;
  comm::test::Door door;
  std::array<engine::Engine, 2> engines{engine::Engine{engine::EngineOptions{}},
                                        engine::Engine{engine::EngineOptions{}}};
  std::array<link::Tcp*, 2> tcps{&link::add_tcp(engines[0], options()), &link::add_tcp(engines[1], {})};
  std::array<link::Link*, 2> links{};
  link::TcpFlow* flow = nullptr;
};

}  // namespace

TEST_CASE("a time-out is explained by how long, how many bytes, the key that decides and what to try") {
  TwoHosts hosts;
  hosts.connect();
  REQUIRE(
      hosts.until([&] { return hosts.flow->connection().established() && hosts.door.accepted != nullptr; }));
  const std::array<std::byte, 1000> bytes{};
  {
    const engine::Guard guard(hosts.engines[0].lock());
    REQUIRE(hosts.flow->connection().send({.data = bytes.data(), .size = bytes.size()}));
    hosts.tcps[0]->wake(*hosts.flow);
  }
  REQUIRE(hosts.until([&] { return !hosts.handler.why.empty(); }, /*ours_alone=*/true));
  CHECK_THAT(hosts.handler.why,
             Contains("timed out: the peer has not answered for ") &&
                 Contains(" s, with 1000 bytes outstanding (limit: tcp.user_timeout_ms)") &&
                 Contains("`tfabric check --listen`"));
}

TEST_CASE("a wire whose process has ended is no network that has failed") {
  TwoHosts hosts;
  std::unique_ptr<link::Link> network;
  {
    const engine::Guard guard(hosts.engines[0].lock());
    network = hosts.tcps[0]->remove_link(*hosts.links[0]);
  }
  hosts.add_link(0, /*ends_with_link=*/true);
  hosts.connect();
  REQUIRE(hosts.until([&] { return hosts.flow->connection().established(); }));
  hosts.wires[0]->end();
  REQUIRE(hosts.until([&] { return !hosts.handler.why.empty(); }, /*ours_alone=*/true));
  CHECK(hosts.handler.why == "the process at the other end of the wire has ended");
}

TEST_CASE("a reset is explained by the reason that it gives") {
  const auto [given, said] = GENERATE(table<std::string, std::string>({
      {"", "the peer reset the connection"},
      {lane::kClosedEarly, "the peer closed its communicator while requests were outstanding"},
      {"message\ntruncated", "the peer's communicator has failed: message?truncated"},
  }));
  TwoHosts hosts;
  hosts.connect();
  REQUIRE(
      hosts.until([&] { return hosts.flow->connection().established() && hosts.door.accepted != nullptr; }));
  {
    const engine::Guard guard(hosts.engines[1].lock());
    hosts.door.accepted->abort(given);
  }
  REQUIRE(hosts.until([&] { return !hosts.handler.why.empty(); }));
  CHECK(hosts.handler.why == said);
}
