#include "transport/device/device.h"

#include <rte_ethdev.h>

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/nic/ring_device.h"
#include "tests/unit/tcp/comm_pair.h"

namespace tfabric::device {

using namespace comm;
using namespace flows;
using namespace session;

namespace {

using namespace std::chrono_literals;

class SubsetRail final : public rails::Rail {
 public:
  explicit SubsetRail(link::Link* link)
      : rails::Rail({.name = "subset",
                     .kind = config::RailKind::af_xdp,
                     .device = "eth1",
                     .queues = config::QueueRange{0, 1}}),
        link_(link) {}
  [[nodiscard]] net::IpAddress address() const override { return test::kAddresses[0]; }
  Result<rails::Way> way_to(const net::IpAddress& peer, std::uint64_t /*process*/) override {
    return rails::Way{link_, peer};
  }
  [[nodiscard]] std::uint32_t mtu() const override { return 1500; }
  [[nodiscard]] link::Link& link() const { return *link_; }

 private:
  link::Link* link_;
};

// Finds no neighbour.
struct Neighbours final : net::NeighbourSource {
  void ask(const net::IpAddress&) override {}
  std::optional<net::Neighbour> next() override { return std::nullopt; }
};

link::Link* add_cable(link::Tcp& tcp) {
  auto port =
      nic::Port::open({.name = "cable", .device = nic::ring_device(), .mtu = 1500, .rx_buffers = 2048});
  REQUIRE(port.ok());
  auto cable =
      std::make_unique<link::Link>(std::move(*port),
                                   net::InterfaceConfig{.name = "cable",
                                                        .mtu = 1500,
                                                        .addresses = {{test::kAddresses[0], 24}},
                                                        .neighbours = std::make_shared<Neighbours>()},
                                   link::LinkOptions{});
  link::Link* link = cable.get();
  const engine::Guard guard(tcp.engine().lock());
  tcp.add_link(std::move(cable));
  return link;
}

// Takes away the link, which was there.
void take_away(engine::Engine& engine, link::Link& link) {
  const engine::Guard guard(engine.lock());
  link.watch(monotonic_now());
  REQUIRE(rte_eth_dev_set_link_down(link.port().id()) == 0);
  link.watch(monotonic_now());
}

enum class Wire : std::uint8_t { swallows_syns, finds_no_neighbour, has_no_link };

// Returns the error of a connection attempt to an address that no host has. `patience`: how long the test
// waits before it asks again; a neighbour that is looked for is known to be silent by then.
Error unanswered(Duration connect_timeout, Duration flow_timeout, Duration patience, Wire wire) {
  link::Options options;
  options.tcp.connect_timeout = flow_timeout;
  test::World world({.connect_timeout = connect_timeout}, options);
  SubsetRail rail(wire == Wire::swallows_syns ? world.links[0] : add_cable(world.tcp));
  if (wire == Wire::has_no_link) {
    take_away(world.engine, rail.link());
  }
  Device device(world.context, world.tcp.port(), world.acceptor, {{&rail}}, {.name = "subset"}, {});

  std::array<std::byte, transport::kHandleBytes> handle{};
  const net::IpAddress absent = *net::parse_ip("10.77.0.9");
  write_handle({.port = 7, .endpoints = {{.address = absent}}}, handle);
  REQUIRE(device.connect(handle, {}).ok());
  const Instant until = monotonic_now() + patience;
  REQUIRE(world.until([&] {
    const engine::Guard guard(world.engine.lock());
    return monotonic_now() > until &&
           (wire != Wire::finds_no_neighbour || rail.link().interface().is_silent(absent, monotonic_now()));
  }));
  std::optional<Error> error;
  REQUIRE(world.until([&] {
    if (const auto outcome = device.connect(handle, {}); !outcome) {
      error = outcome.error();
    }
    return error.has_value();
  }));
  return *error;
}

int milliseconds_in(const std::string& message) {
  const std::string before = "no answer for ";
  const std::size_t at = message.find(before);
  REQUIRE(at != std::string::npos);
  return std::stoi(message.substr(at + before.size()));
}

// Over one of the world's links.
class WorldRail final : public rails::Rail {
 public:
  WorldRail(test::World& world, std::size_t number)
      : rails::Rail({.name = "eth" + std::to_string(number), .kind = config::RailKind::af_packet}),
        link_(world.links[number]),
        address_(test::kAddresses[number]) {}
  [[nodiscard]] net::IpAddress address() const override { return address_; }
  Result<rails::Way> way_to(const net::IpAddress& peer, std::uint64_t /*process*/) override {
    return rails::Way{link_, peer};
  }
  [[nodiscard]] std::uint32_t mtu() const override { return 1500; }

 private:
  link::Link* link_;
  net::IpAddress address_;
};

// Calls connect() until it returns a comm or an error.
Result<std::unique_ptr<transport::SendComm>> connect(test::World& world, Device& device,
                                                     transport::HandleBytes handle) {
  Result<std::unique_ptr<transport::SendComm>> outcome = std::unique_ptr<transport::SendComm>();
  REQUIRE(world.until([&] {
    outcome = device.connect(handle, {});
    return !outcome || *outcome != nullptr;
  }));
  return outcome;
}

}  // namespace

TEST_CASE("a peer that has accepted and closed in order is no error of connect, but of the first request") {
  test::World world;
  WorldRail rail(world, 0);
  Device device(world.context, world.tcp.port(), world.acceptor, {{&rail}}, {.name = "eth0"}, {});
  std::array<std::byte, transport::kHandleBytes> handle{};
  auto listener = device.listen(handle, {});
  REQUIRE(listener.ok());
  const auto begun = device.connect(handle, {});
  REQUIRE((begun.ok() && *begun == nullptr));
  REQUIRE(world.until([&] {
    const auto accepted = (*listener)->accept();  // and closed
    REQUIRE(accepted.ok());
    return *accepted != nullptr;
  }));
  for (int i = 0; i < 1000; ++i) {
    const engine::Guard guard(world.engine.lock());
    world.engine.turn();
  }
  const auto comm = device.connect(handle, {});
  INFO((comm ? std::string() : comm.error().message));
  REQUIRE((comm.ok() && *comm != nullptr));
  const auto request = (*comm)->isend(nullptr, 0, 0, nullptr);
  REQUIRE((request.ok() && *request != nullptr));
  const auto done = (*request)->test(nullptr);
  REQUIRE_FALSE(done.ok());
  CHECK(done.error().code == Errc::remote);
  CHECK_THAT(done.error().message, Catch::Contains("the peer closed its communicator"));
}

TEST_CASE("a rail that has no address of its counterpart's family is left out, if another one can be used") {
  test::World world;
  WorldRail first(world, 0), second(world, 1);
  const RailRole role = GENERATE(RailRole::own, RailRole::reserve);
  Device device(world.context, world.tcp.port(), world.acceptor, {{&first}, {&second, role}},
                {.name = "eth0"}, {});
  const net::IpAddress v6 = *net::parse_ip("fd00::9");
  std::array<std::byte, transport::kHandleBytes> handle{};
  Handle peer{.token = world.token, .port = world.tcp.port(), .endpoints = {{.address = v6}}};
  SECTION("with another rail") {
    peer.endpoints.push_back({.address = test::kAddresses[1], .role = role});
    write_handle(peer, handle);
    const auto comm = connect(world, device, handle);
    INFO((comm ? std::string() : comm.error().message));
    CHECK(comm.ok());
  }
  SECTION("without one") {
    write_handle(peer, handle);
    const auto comm = device.connect(handle, {});
    REQUIRE_FALSE(comm.ok());
    CHECK(comm.error().message == "rail eth0 cannot reach fd00::9: it has no address of that family");
  }
}

TEST_CASE("a rail that cannot open a connection is left out, and tried again") {
  test::World world;
  const std::uint64_t there = world.links[0]->number();
  const Hello hello{.token = world.token, .comm = 7};
  const auto path = std::make_shared<Path>(FlowChoice{}, "test");
  const auto open = [&](std::uint64_t first_carrier, std::unique_ptr<SendComm>& send) {
    std::vector<SendRoute> routes;
    for (const std::uint64_t carrier : {first_carrier, there}) {
      routes.push_back({.carrier = carrier,
                        .remote = test::kAddresses[0],
                        .port = world.tcp.port(),
                        .path = path,
                        .joined = {}});
    }
    routes.resize(first_carrier == there ? 1 : 2);
    const engine::Guard guard(world.engine.lock());
    send = std::make_unique<SendComm>(world.context, hello, std::uint8_t{1}, std::move(routes));
    return send->open_lanes();
  };
  std::unique_ptr<SendComm> send;
  constexpr std::uint64_t kNone = 0;
  CHECK_FALSE(open(kNone, send));
  REQUIRE(world.until([&] { return send->welcomed(); }));
  CHECK(send->lanes({0}) == 0);
}

TEST_CASE("a peer that does not answer is explained, even if the SYN's time is over first") {
  const Error error = unanswered(100ms, 100ms, 200ms, Wire::swallows_syns);
  CHECK(error.code == Errc::remote);
  CHECK(milliseconds_in(error.message) >= 200);
  CHECK_THAT(error.message, Catch::Contains("do both NICs lead TCP ports to their queues"));
}

TEST_CASE("the error of a flow that gives up early says how long it took") {
  const Error error = unanswered(1h, 100ms, 200ms, Wire::swallows_syns);
  CHECK(error.code == Errc::remote);
  CHECK(milliseconds_in(error.message) >= 200);
  CHECK(milliseconds_in(error.message) < 3'600'000);
}

TEST_CASE("a neighbour that does not answer is reported, whichever timer is first", "[timed]") {
  const bool flow_first = GENERATE(true, false);
  // It takes three seconds, and on a busy host some more, until a neighbour counts as silent.
  const Error error =
      unanswered(flow_first ? 1h : 100ms, flow_first ? Duration(8s) : 1h, 0ms, Wire::finds_no_neighbour);
  CHECK(error.code == Errc::remote);
  CHECK_THAT(error.message, Catch::Contains("the peer is unreachable"));
}

TEST_CASE("a rail without a link is the reason why a peer does not answer, whichever timer is first") {
  const bool flow_first = GENERATE(true, false);
  const Error error =
      unanswered(flow_first ? 1h : 100ms, flow_first ? Duration(100ms) : 1h, 200ms, Wire::has_no_link);
  CHECK(error.code == Errc::remote);
  CHECK_THAT(error.message, Catch::Contains("rail cable: no link since "));
}

}  // namespace tfabric::device
