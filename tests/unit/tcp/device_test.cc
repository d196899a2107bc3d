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

// The error of a connection attempt to an address where nobody is.
Error unanswered(Duration connect_timeout, Duration flow_timeout) {
  engine::EngineOptions options;
  options.tcp.connect_timeout = flow_timeout;
  test::World world({.connect_timeout = connect_timeout}, options);
  PartOfInterface rail(world.links[0]);
  Device device(world.context, world.greeter, {&rail}, {.name = "part"}, {});

  std::array<std::byte, transport::kHandleBytes> handle{};
  write_handle({.port = 7, .addresses = {*net::parse_ip("10.77.0.9")}}, handle);
  REQUIRE(device.connect(handle, {}).ok());
  std::this_thread::sleep_for(2 * flow_timeout);
  const auto outcome = device.connect(handle, {});
  REQUIRE(!outcome.ok());
  return outcome.error();
}

int milliseconds_in(const std::string& message) {
  const std::string before = "no answer for ";
  const std::size_t at = message.find(before);
  REQUIRE(at != std::string::npos);
  return std::stoi(message.substr(at + before.size()));
}

}  // namespace

TEST_CASE("a peer that does not answer is explained, though the SYN's time is over first") {
  const Error error = unanswered(100ms, 100ms);
  CHECK(error.code == Errc::remote);
  CHECK(milliseconds_in(error.message) >= 200);
  CHECK_THAT(error.message, Catch::Contains("do both NICs lead TCP ports to their queues"));
}

TEST_CASE("a flow that gives up early is told with the time that it took") {
  const Error error = unanswered(1h, 100ms);
  CHECK(error.code == Errc::remote);
  CHECK(milliseconds_in(error.message) >= 200);
  CHECK(milliseconds_in(error.message) < 3'600'000);
}

}  // namespace tfabric::tcp
