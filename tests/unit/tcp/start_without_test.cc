// A process that starts while the device of one of its rails is missing.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/captured_log.h"
#include "tests/missing_interface.h"
#include "tests/temporary_folder.h"
#include "tests/unit/nic/eal_fixture.h"
#include "transport/device/tcp_transport.h"

using namespace tfabric;
using namespace tfabric::device;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

// A rail whose interface does not exist, and loopback as its life-boat.
struct Start {
  Start() {
    nic::need_eal();
    config.tcp.rails = {
        {.name = "eth1",
         .kind = config::RailKind::af_packet,
         .device = tfabric::test::missing_interface(),
         .addresses = {"10.99.0.1/24"}},
        {.name = "boat", .kind = config::RailKind::kernel, .device = "lo", .addresses = {"127.0.0.1/8"}}};
    config.lock_folder = *config::LockFolder::parse(locks.path());
    config.tcp.witness = false;
  }
  tfabric::test::TemporaryFolder locks;
  config::Config config;
};

template <class Result>
const auto& checked(const Result& result) {
  INFO((result ? std::string() : result.error().message));
  REQUIRE(result.ok());
  return *result;
}

}  // namespace

TEST_CASE("a process whose only rail is missing starts over its life-boat") {
  const tfabric::test::CapturedLog log;
  const Start start;
  const auto transport = open_transport(start.config);
  transport::Device& device = *checked(transport)->devices().at(0);
  CHECK(device.properties().name == "eth1");
  CHECK(log.count("rail eth1: cannot open") == 1);
  CHECK(log.count("Starting without it; processes that start once it works use it") == 1);

  std::array<std::byte, transport::kHandleBytes> handle{};
  const auto listener = device.listen(handle, {});
  std::unique_ptr<transport::SendComm> send;
  std::unique_ptr<transport::RecvComm> receive;
  const Instant deadline = monotonic_now() + 120s;
  while ((send == nullptr || receive == nullptr) && monotonic_now() < deadline) {
    if (send == nullptr) {
      auto connected = device.connect(handle, {});
      REQUIRE_FALSE(!connected.ok());
      send = std::move(*connected);
    }
    if (receive == nullptr) {
      auto accepted = checked(listener)->accept();
      REQUIRE(accepted.ok());
      receive = std::move(*accepted);
    }
  }
  REQUIRE((send != nullptr && receive != nullptr));
  const std::vector<std::byte> out(1'000'000, std::byte{7});
  std::vector<std::byte> in(out.size());
  const transport::ReceiveBuffer buffer{in.data(), in.size(), 0, nullptr};
  transport::Request* received = checked(receive->irecv(std::span(&buffer, 1)));
  transport::Request* sent = nullptr;
  while ((sent == nullptr || received != nullptr) && monotonic_now() < deadline) {
    sent = sent == nullptr ? checked(send->isend(out.data(), out.size(), 0, nullptr)) : sent;
    received = received != nullptr && checked(received->test(nullptr)) ? nullptr : received;
  }
  CHECK(received == nullptr);
  CHECK((in == out));
}

TEST_CASE("a process steps aside if nothing stands in for the rail that is missing") {
  Start start;
  SECTION("without a life-boat") {
    start.config.tcp.rails.pop_back();
    start.config.tcp.lifeboat = false;
  }
  SECTION("with `required`") { start.config.required = true; }
  const auto transport = open_transport(start.config);
  REQUIRE_FALSE(transport.ok());
  CHECK(transport.error().code == Errc::unusable);
  CHECK_THAT(transport.error().message, Contains("rail eth1: cannot open"));
}
