// What connections tell the neighbour table by way of the engine.
#include <cstring>

#include "tests/unit/link/loop.h"
#include "tests/unit/nic/ring_device.h"
#include "transport/tcp/link/link.h"
#include "transport/tcp/link/tcp.h"
#include "transport/tcp/net/wire.h"
#include "transport/tcp/nic/device_arguments.h"

namespace tfabric::link {
using namespace test;
using namespace std::chrono_literals;

namespace {

const net::IpAddress kPeer = *net::parse_ip("10.77.0.9");
constexpr net::MacAddress kOurs{{2, 0, 0, 0, 0, 1}}, kTrue{{2, 0, 0, 0, 0, 9}},
    kForged{{2, 0, 0, 0, 0, 0x66}};

// An ARP reply to us: the peer has `mac`.
std::array<std::byte, 42> reply_of(const net::MacAddress& mac) {
  std::array<std::byte, 42> frame{};
  std::memcpy(frame.data(), kOurs.bytes.data(), 6);
  std::memcpy(&frame[6], mac.bytes.data(), 6);
  net::put16(&frame[12], net::kEtherTypeArp);
  net::put32(&frame[14], 0x00010800);
  net::put32(&frame[18], 0x06040002);
  std::memcpy(&frame[22], mac.bytes.data(), 6);
  std::memcpy(&frame[28], &kPeer.bytes[12], 4);
  std::memcpy(&frame[32], kOurs.bytes.data(), 6);
  std::memcpy(&frame[38], &kAddress.bytes[12], 4);
  return frame;
}

}  // namespace

TEST_CASE("a neighbour with a forged MAC address is asked for again when its connection times out",
          "[timed]") {
  Options options;
  options.tcp.initial_rto = 50ms;
  options.tcp.connect_timeout = 60s;
  Loop loop(options);
  auto port =
      nic::Port::open({.name = "hall", .device = nic::ring_device(), .mtu = 1500, .rx_buffers = 2048});
  REQUIRE(port.ok());
  // What leaves by it comes back: of the requests, only those to everybody are counted as ARP.
  auto made = std::make_unique<Link>(
      std::move(*port),
      net::InterfaceConfig{.name = "hall", .mac = kOurs, .mtu = 1500, .addresses = {{kAddress, 24}}},
      LinkOptions{});
  Link& link = *made;
  loop.tcp.add_link(std::move(made), /*announce=*/false);
  const auto knows = [&](const net::MacAddress& mac) {
    net::LinkHeader header;
    return link.interface().prepare(kAddress, kPeer, header, monotonic_now()) ==
               net::Interface::Route::ready &&
           std::memcmp(header.bytes.data(), mac.bytes.data(), 6) == 0;
  };

  Collector client;
  REQUIRE(loop.tcp.connect(link, kPeer, 7, &client, 0) != nullptr);
  REQUIRE(loop.until([&] { return link.interface().counters().arp == 1; }));
  REQUIRE(link.send_frame(reply_of(kForged)));
  REQUIRE(loop.until([&] { return knows(kForged); }));
  REQUIRE(loop.until([&] { return link.interface().counters().arp == 3; }));
  CHECK(knows(kForged));
  REQUIRE(link.send_frame(reply_of(kTrue)));
  REQUIRE(loop.until([&] { return knows(kTrue); }));
  CHECK_FALSE(client.failed);
}

}  // namespace tfabric::link
