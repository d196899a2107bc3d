#include "transport/tcp/device.h"

#include <rte_ethdev.h>

#include <array>
#include <catch2/catch.hpp>
#include <optional>

#include "tests/unit/nic/ring_device.h"
#include "tests/unit/tcp/comm_pair.h"

namespace tfabric::tcp {
namespace {

using namespace std::chrono_literals;

class SubsetRail final : public Rail {
 public:
  explicit SubsetRail(engine::Link* link)
      : Rail({.name = "subset",
              .kind = config::RailKind::af_xdp,
              .device = "eth1",
              .queues = config::QueueRange{0, 1}}),
        link_(link) {}
  [[nodiscard]] net::IpAddress address() const override { return test::kAddresses[0]; }
  Result<Route> route_to(const net::IpAddress& peer, std::uint64_t /*process*/) override {
    return Route{link_, peer};
  }
  [[nodiscard]] std::uint32_t mtu() const override { return 1500; }
  [[nodiscard]] engine::Link& link() const { return *link_; }

 private:
  engine::Link* link_;
};

// Finds no neighbour.
struct Neighbours final : net::NeighbourSource {
  void ask(const net::IpAddress&) override {}
  std::optional<net::Neighbour> next() override { return std::nullopt; }
};

engine::Link* add_cable(engine::Engine& engine) {
  auto port =
      nic::Port::open({.name = "cable", .device = nic::ring_device(), .mtu = 1500, .rx_buffers = 2048});
  REQUIRE(port.ok());
  auto cable =
      std::make_unique<engine::Link>(std::move(*port),
                                     net::InterfaceConfig{.name = "cable",
                                                          .mtu = 1500,
                                                          .addresses = {{test::kAddresses[0], 24}},
                                                          .neighbours = std::make_shared<Neighbours>()},
                                     engine::LinkOptions{});
  engine::Link* link = cable.get();
  const EngineGuard guard(engine.lock());
  engine.add_link(std::move(cable));
  return link;
}

// Takes away the link, which was there.
void take_away(engine::Engine& engine, engine::Link& link) {
  const EngineGuard guard(engine.lock());
  link.watch(monotonic_now());
  REQUIRE(rte_eth_dev_set_link_down(link.port().id()) == 0);
  link.watch(monotonic_now());
}

enum class Wire : std::uint8_t { swallows_syns, finds_no_neighbour, has_no_link };

// Returns the error of a connection attempt to an address that no host has. `patience`: how long the test
// waits before it asks again; a neighbour that is looked for is known to be silent by then.
Error unanswered(Duration connect_timeout, Duration flow_timeout, Duration patience, Wire wire) {
  engine::EngineOptions options;
  options.tcp.connect_timeout = flow_timeout;
  test::World world({.connect_timeout = connect_timeout}, options);
  SubsetRail rail(wire == Wire::swallows_syns ? world.links[0] : add_cable(world.engine));
  if (wire == Wire::has_no_link) {
    take_away(world.engine, rail.link());
  }
  Device device(world.context, world.acceptor, {{&rail}}, {.name = "subset"}, {});

  std::array<std::byte, transport::kHandleBytes> handle{};
  const net::IpAddress absent = *net::parse_ip("10.77.0.9");
  write_handle({.port = 7, .endpoints = {{.address = absent}}}, handle);
  REQUIRE(device.connect(handle, {}).ok());
  const Instant until = monotonic_now() + patience;
  REQUIRE(world.until([&] {
    const EngineGuard guard(world.engine.lock());
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

}  // namespace

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

}  // namespace tfabric::tcp
