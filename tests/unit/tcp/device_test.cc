#include "transport/tcp/device.h"

#include <array>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/unit/tcp/comm_pair.h"

namespace tfabric::tcp {
namespace {

using namespace std::chrono_literals;

class PartOfInterface final : public Rail {
 public:
  explicit PartOfInterface(engine::Link* link)
      : Rail({.name = "part",
              .kind = config::RailKind::af_xdp,
              .device = "eth1",
              .queues = config::QueueRange{0, 1}}),
        link_(link) {}
  [[nodiscard]] net::IpAddress address() const override { return test::kAddresses[0]; }
  Result<Way> way_to(const net::IpAddress& peer, std::uint64_t /*process*/) override {
    return Way{link_, peer};
  }
  [[nodiscard]] std::uint32_t mtu() const override { return 1500; }

 private:
  engine::Link* link_;
};

}  // namespace

TEST_CASE("a peer that does not answer is explained, though the SYN's time is over first") {
  constexpr auto kTimeout = 100ms;
  engine::EngineOptions options;
  options.tcp.connect_timeout = kTimeout;
  test::World world({.connect_timeout = kTimeout}, options);
  PartOfInterface rail(world.links[0]);
  Device device(world.context, world.greeter, {&rail}, {.name = "part"}, {});

  std::array<std::byte, transport::kHandleBytes> handle{};
  write_handle({.port = 7, .addresses = {*net::parse_ip("10.77.0.9")}}, handle);
  REQUIRE(device.connect(handle, {}).ok());
  std::this_thread::sleep_for(2 * kTimeout);
  const auto outcome = device.connect(handle, {});
  REQUIRE(!outcome.ok());
  CHECK(outcome.error().code == Errc::remote);
  CHECK_THAT(outcome.error().message, Catch::Contains("no answer for 100 ms"));
  CHECK_THAT(outcome.error().message, Catch::Contains("do both NICs lead TCP ports to their queues"));
}

}  // namespace tfabric::tcp
