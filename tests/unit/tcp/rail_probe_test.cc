#include "transport/rails/rail_probe.h"

#include <catch2/catch.hpp>

#include "tests/unit/net/frames.h"

using namespace tfabric;
using namespace tfabric::net;
using namespace std::chrono_literals;
using Catch::Contains;
using Kind = transport::RailFault::Kind;

namespace {

constexpr MacAddress kRouterMac{{2, 0, 0, 0, 0, 0xfe}};

InterfaceConfig without_gateways() {
  InterfaceConfig config = our_config();
  config.gateway_v4 = config.gateway_v6 = std::nullopt;
  return config;
}

// A wire whose far end answers the interface's frames by a function of the test.
struct Wire {
  explicit Wire(InterfaceConfig config) : interface(std::move(config)), probe(interface) {}

  // Takes steps of a millisecond, and returns how long the probe took.
  template <class Answer>
  Duration run(const Answer& answer, Duration link_after = 0ms) {
    for (Instant now = kStart; now < kStart + 60s; now += 1ms) {
      interface.on_time(now);
      if (probe.step(now >= kStart + link_after, now)) {
        return now - kStart;
      }
      while (const auto frame = interface.next_frame()) {
        frames.push_back(*frame);
        if (const Bytes reply = answer(*frame); !reply.empty()) {
          static_cast<void>(interface.input(reply, {}, now));
        }
      }
    }
    FAIL("the probe does not end");
    return {};
  }

  Interface interface;
  rails::RailProbe probe;
  std::vector<Bytes> frames;
};

Bytes silence(const Bytes& /*frame*/) { return {}; }

Bytes arp_reply(const IpAddress& address, const MacAddress& mac) {
  return arp_frame(
      {.operation = 2, .sender_mac = mac, .sender = address, .target_mac = kOurMac, .target = our4()},
      kOurMac);
}

// An advertisement of `address`, to all nodes.
Bytes advertisement(const IpAddress& address, const MacAddress& mac) {
  Bytes rest = bytes_of(address);
  append(rest, bytes({2, 1}));
  append(rest, std::as_bytes(std::span(mac.bytes)));
  const Ip header{.source = address, .destination = ip("ff02::1"), .protocol = 58, .hop_limit = 255};
  return ip_frame(header, icmp(header, 136, 0, 0x20000000, rest));
}

// The gateways of our_config().
Bytes routers(const Bytes& frame) {
  const bool arp = at16(frame, 12) == 0x0806;
  if (arp && Bytes(frame.end() - 4, frame.end()) == bytes_of(ip("10.0.0.254"))) {
    return arp_reply(ip("10.0.0.254"), kRouterMac);
  }
  constexpr std::size_t kTarget = 14 + 40 + 8;
  const bool asked = !arp && Bytes(&frame[kTarget], &frame[kTarget] + 16) == bytes_of(ip("fe80::fe"));
  return asked ? advertisement(ip("fe80::fe"), kRouterMac) : Bytes{};
}

// A report of multicast groups: IPv6 with a hop-by-hop header.
bool is_report(const Bytes& frame) { return at16(frame, 12) == 0x86dd && frame[20] == std::byte{0}; }

std::vector<Bytes> without_reports(std::vector<Bytes> frames) {
  std::erase_if(frames, is_report);
  return frames;
}

}  // namespace

TEST_CASE(
    "a rail without a gateway asks for its addresses like a host without any, and listens for a moment") {
  Wire wire(without_gateways());
  REQUIRE(wire.run(silence) == rails::kClaimWindow);
  REQUIRE_FALSE(wire.probe.fault());
  const std::vector<Bytes> frames = without_reports(wire.frames);
  REQUIRE(frames.size() == 6);  // three times, for both families
  // Without the report of its group, a switch that snoops would keep the answers from it.
  REQUIRE(wire.frames.size() == 7);
  REQUIRE(std::find_if(wire.frames.begin(), wire.frames.end(), is_report) <
          std::find(wire.frames.begin(), wire.frames.end(), frames[1]));
  REQUIRE(frames[0] == arp_frame({.sender_mac = kOurMac, .sender = ip("0.0.0.0"), .target = our4()}));
  const Ip header{.source = ip("::"), .destination = ip("ff02::1:ff00:1"), .protocol = 58, .hop_limit = 255};
  const Bytes solicitation = packet(header, icmp(header, 135, 0, 0, bytes_of(our6())));
  REQUIRE(frames[1] == ethernet({{0x33, 0x33, 0xff, 0, 0, 1}}, kOurMac, 0x86dd, solicitation));
}

TEST_CASE("gateways that answer at once cost no more time") {
  Wire wire(our_config());
  REQUIRE(wire.run(routers) == rails::kClaimWindow);
  REQUIRE_FALSE(wire.probe.fault());
}

TEST_CASE("a gateway that answers late is waited for") {
  int asked = 0;
  InterfaceConfig config = our_config();
  config.gateway_v6 = std::nullopt;
  Wire wire(std::move(config));
  const Duration took = wire.run([&](const Bytes& frame) {
    const Bytes reply = routers(frame);
    return !reply.empty() && ++asked == 3 ? reply : Bytes{};
  });
  REQUIRE(took >= 2s);
  REQUIRE(took < 2100ms);
  REQUIRE_FALSE(wire.probe.fault());
}

TEST_CASE("a gateway that is silent is a fault, after three questions") {
  SECTION("IPv4's") {
    InterfaceConfig config = our_config();
    config.gateway_v6 = std::nullopt;
    Wire wire(std::move(config));
    const Duration took = wire.run(silence);
    REQUIRE(took >= 3s);
    REQUIRE(took < 3100ms);
    REQUIRE(wire.probe.fault()->kind == Kind::gateway_silent);
    REQUIRE(wire.probe.fault()->rail == "rail0");
    REQUIRE_THAT(wire.probe.fault()->what, Contains("gateway 10.0.0.254 does not answer to ARP"));
  }
  SECTION("IPv6's") {
    InterfaceConfig config = our_config();
    config.gateway_v4 = std::nullopt;
    Wire wire(std::move(config));
    static_cast<void>(wire.run(silence));
    REQUIRE(wire.probe.fault()->kind == Kind::gateway_silent);
    REQUIRE_THAT(wire.probe.fault()->what,
                 Contains("gateway6 fe80::fe does not answer to neighbour discovery"));
  }
}

TEST_CASE("a host that has our address is a fault at once, for either family") {
  const bool v4 = GENERATE(true, false);
  Wire wire(our_config());
  const Duration took = wire.run(
      [&](const Bytes&) { return v4 ? arp_reply(our4(), kPeerMac) : advertisement(our6(), kPeerMac); });
  REQUIRE(took <= 2ms);
  REQUIRE(wire.probe.fault()->kind == Kind::address_taken);
  REQUIRE_THAT(wire.probe.fault()->what,
               Contains("02:00:00:00:00:02") && Contains(v4 ? "10.0.0.1" : "fd00::1"));
}

TEST_CASE(
    "a process that hardly runs reads the claims that have arrived before it believes in their absence") {
  Wire wire(without_gateways());
  Bytes claim;
  int steps = 0;
  Instant now = kStart;
  while (!wire.probe.step(/*has_link=*/true, now)) {
    REQUIRE(++steps < 1000);
    now += 1s;
    // The claim is read three steps after the probe.
    if (steps == 3 && !wire.frames.empty()) {
      static_cast<void>(wire.interface.input(arp_reply(our4(), kRouterMac), {}, now));
    }
    while (const auto frame = wire.interface.next_frame()) {
      wire.frames.push_back(*frame);
    }
  }
  REQUIRE(wire.probe.fault());
  CHECK(wire.probe.fault()->kind == Kind::address_taken);
}

TEST_CASE("our own probe that comes back, from a loop or a bond, is no claim") {
  Wire wire(without_gateways());
  REQUIRE(wire.run([](const Bytes& frame) { return frame; }) == rails::kClaimWindow);
  REQUIRE_FALSE(wire.probe.fault());
}

TEST_CASE("a link that comes late is waited for, and nothing is sent before") {
  Wire wire(without_gateways());
  REQUIRE(wire.run(silence, /*link_after=*/4s) == 4s + rails::kClaimWindow);
  REQUIRE_FALSE(wire.probe.fault());
  REQUIRE(without_reports(wire.frames).size() == 6);
}

TEST_CASE("a link that does not come is a fault") {
  Wire wire(our_config());
  REQUIRE(wire.run(silence, /*link_after=*/60s) == rails::kLinkPatience);
  REQUIRE(wire.probe.fault()->kind == Kind::no_link);
  REQUIRE_THAT(wire.probe.fault()->what, Contains("no link for 10 s"));
  REQUIRE(wire.frames.empty());
}
