#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "frames.h"
#include "tests/captured_log.h"

using namespace tfabric;
using namespace tfabric::net;
using namespace std::chrono_literals;
using Kind = InputResult::Kind;
using Route = Interface::Route;

namespace {

bool knows(Interface& interface, const IpAddress& address, const MacAddress& mac) {
  LinkHeader header;
  return interface.prepare(our4(), address, header, kStart) == Route::ready &&
         std::memcmp(header.bytes.data(), mac.bytes.data(), mac.bytes.size()) == 0;
}

Bytes reply_of(const MacAddress& mac) {
  return arp_frame(
      {.operation = 2, .sender_mac = mac, .sender = peer4(), .target_mac = kOurMac, .target = our4()},
      kOurMac);
}

std::vector<std::string> warnings(const test::CapturedLog& captured) {
  std::vector<std::string> warnings;
  for (const auto& line : captured.lines()) {
    if (line.level == log::Level::warn) {
      warnings.push_back(line.text);
    }
  }
  return warnings;
}

}  // namespace

TEST_CASE("a request for our address is answered to its sender, and its sender is learned") {
  Interface interface(our_config());
  const auto result = interface.input(arp_frame({.sender = peer4(), .target = our4()}), {}, kStart);
  REQUIRE(result.kind == Kind::handled);
  REQUIRE(interface.counters().arp == 1);
  const auto reply = interface.next_frame();
  REQUIRE(reply == arp_frame({.operation = 2,
                              .sender_mac = kOurMac,
                              .sender = our4(),
                              .target_mac = kPeerMac,
                              .target = peer4()},
                             kPeerMac));
  REQUIRE_FALSE(interface.next_frame());
  REQUIRE(knows(interface, peer4(), kPeerMac));
}

TEST_CASE("a request for another host is not answered, and nothing is learned") {
  Interface interface(our_config());
  REQUIRE(interface.input(arp_frame({.sender = peer4(), .target = ip("10.0.0.9")}), {}, kStart).kind ==
          Kind::handled);
  REQUIRE_FALSE(interface.next_frame());
  REQUIRE_FALSE(knows(interface, peer4(), kPeerMac));
}

TEST_CASE("a packet that waits for its neighbour asks for it, and leaves once it has answered") {
  Interface interface(our_config());
  LinkHeader header;
  REQUIRE(interface.prepare(our4(), peer4(), header, kStart) == Route::pending);
  REQUIRE(interface.next_frame() == arp_frame({.sender_mac = kOurMac, .sender = our4(), .target = peer4()}));
  REQUIRE(interface.prepare(our4(), peer4(), header, kStart) == Route::pending);
  REQUIRE_FALSE(interface.next_frame());
  const auto reply =
      arp_frame({.operation = 2, .sender = peer4(), .target_mac = kOurMac, .target = our4()}, kOurMac);
  REQUIRE(interface.input(reply, {}, kStart).kind == Kind::handled);
  REQUIRE_FALSE(interface.next_frame());
  REQUIRE(knows(interface, peer4(), kPeerMac));
}

TEST_CASE("a neighbour that does not exist is asked again, and reported as silent") {
  Interface interface(our_config());
  LinkHeader header;
  REQUIRE(interface.prepare(our4(), peer4(), header, kStart) == Route::pending);
  int requests = 0;
  for (Instant now = kStart; now < kStart + 10s; now += 100ms) {
    interface.on_time(now);
    while (interface.next_frame()) {
      ++requests;
    }
    REQUIRE(interface.prepare(our4(), peer4(), header, now) == Route::pending);
    REQUIRE(interface.is_silent(peer4(), now) == (now >= kStart + 3s));
  }
  REQUIRE(requests == 10);
}

TEST_CASE("our addresses are announced as requests for ourselves") {
  InterfaceConfig config = our_config();
  config.addresses = {{our4(), 24}};
  Interface interface(config);
  interface.announce(kStart);
  REQUIRE(interface.next_frame() == arp_frame({.sender_mac = kOurMac, .sender = our4(), .target = our4()}));
  REQUIRE_FALSE(interface.next_frame());
}

TEST_CASE("another host's announcement creates nothing, and changes what is known once it is verified") {
  constexpr MacAddress kMoved{{2, 0, 0, 0, 0, 9}};
  Interface interface(our_config());
  const auto drop_frames = [&] {
    while (interface.next_frame()) {
    }
  };
  static_cast<void>(interface.input(arp_frame({.sender = peer4(), .target = peer4()}), {}, kStart));
  REQUIRE_FALSE(knows(interface, peer4(), kPeerMac));
  static_cast<void>(interface.input(reply_of(kPeerMac), {}, kStart));
  drop_frames();
  const auto generation = interface.generation();
  Instant now = kStart + 2s;
  static_cast<void>(
      interface.input(arp_frame({.sender_mac = kMoved, .sender = peer4(), .target = peer4()}), {}, now));
  REQUIRE(interface.generation() == generation);
  interface.on_time(now);
  REQUIRE(interface.next_frame() ==
          arp_frame({.sender_mac = kOurMac, .sender = our4(), .target = peer4()}, kPeerMac));
  now += 1s;
  interface.on_time(now);
  REQUIRE(interface.next_frame() == arp_frame({.sender_mac = kOurMac, .sender = our4(), .target = peer4()}));
  static_cast<void>(interface.input(reply_of(kMoved), {}, now));
  REQUIRE(interface.generation() != generation);
  REQUIRE(knows(interface, peer4(), kMoved));
}

TEST_CASE("one forged ARP message does not change a neighbour in use") {
  constexpr MacAddress kForger{{2, 0, 0, 0, 0, 0x66}};
  Interface interface(our_config());
  REQUIRE_FALSE(knows(interface, peer4(), kPeerMac));
  static_cast<void>(interface.input(reply_of(kPeerMac), {}, kStart));
  const auto generation = interface.generation();
  for (const Bytes& forged :
       {reply_of(kForger), arp_frame({.sender_mac = kForger, .sender = peer4(), .target = our4()}, kOurMac),
        arp_frame({.operation = 2, .sender_mac = kForger, .sender = peer4(), .target = peer4()})}) {
    static_cast<void>(interface.input(forged, {}, kStart + 2s));
    REQUIRE(interface.generation() == generation);
    REQUIRE(knows(interface, peer4(), kPeerMac));
  }
}

TEST_CASE("a gateway behind which connections time out is asked whether it is there") {
  Interface interface(our_config());
  LinkHeader header;
  REQUIRE(interface.prepare(our4(), ip("192.0.2.1"), header, kStart) == Route::pending);
  static_cast<void>(interface.next_frame());
  static_cast<void>(interface.input(
      arp_frame({.operation = 2, .sender = ip("10.0.0.254"), .target_mac = kOurMac, .target = our4()},
                kOurMac),
      {}, kStart));
  interface.doubt(ip("192.0.2.1"), kStart + 2s);
  interface.on_time(kStart + 2s);
  REQUIRE(interface.next_frame() ==
          arp_frame({.sender_mac = kOurMac, .sender = our4(), .target = ip("10.0.0.254")}, kPeerMac));
  REQUIRE(interface.next_hop(ip("192.0.2.1")) == ip("10.0.0.254"));
}

TEST_CASE("a host that claims our address is reported once, and not believed") {
  const test::CapturedLog captured;
  Interface interface(our_config());
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(interface.input(arp_frame({.sender = our4(), .target = our4()}), {}, kStart));
  }
  REQUIRE(warnings(captured).size() == 1);
  REQUIRE_THAT(warnings(captured)[0], Catch::Contains("rail0") && Catch::Contains("10.0.0.1") &&
                                          Catch::Contains("02:00:00:00:00:02"));
  REQUIRE_FALSE(interface.next_frame());
  LinkHeader header;
  REQUIRE(interface.prepare(our4(), our4(), header, kStart) == Route::ready);
}

TEST_CASE(
    "a duplicate that a probe finds is reported only by conflict(), until the addresses are announced") {
  const test::CapturedLog captured;
  Interface interface(our_config());
  interface.probe_addresses(kStart);
  REQUIRE_FALSE(interface.conflict());
  static_cast<void>(interface.input(arp_frame({.sender = our4(), .target = our4()}), {}, kStart));
  REQUIRE(warnings(captured).empty());
  REQUIRE(interface.conflict()->address == our4());
  REQUIRE(interface.conflict()->mac == kPeerMac);
  Interface announced(our_config());
  announced.probe_addresses(kStart);
  announced.announce(kStart);
  static_cast<void>(announced.input(arp_frame({.sender = our4(), .target = our4()}), {}, kStart));
  REQUIRE(warnings(captured).size() == 1);
}

TEST_CASE("a probe for our address, from a host without one, is answered, and nothing is learned") {
  Interface interface(our_config());
  static_cast<void>(interface.input(arp_frame({.sender = ip("0.0.0.0"), .target = our4()}), {}, kStart));
  REQUIRE(interface.next_frame().has_value());
}

TEST_CASE("malformed ARP is counted and nothing else") {
  Interface interface(our_config());
  const Bytes good = arp_frame({.sender = peer4(), .target = our4()});
  std::uint64_t expected = 0;
  const auto refuse = [&](const Bytes& frame) {
    REQUIRE(interface.input(frame, {}, kStart).kind == Kind::dropped);
    REQUIRE(interface.counters().malformed == ++expected);
    REQUIRE_FALSE(interface.next_frame());
  };
  for (std::size_t size = 14; size < good.size(); ++size) {
    refuse({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
  }
  for (std::size_t at = 14; at < 20; ++at) {  // hardware and protocol type, their lengths
    Bytes bad = good;
    bad[at] ^= std::byte{1};
    refuse(bad);
  }
  Bytes group = good;
  std::fill_n(group.begin() + 22, 6, std::byte{0xff});
  refuse(group);
  REQUIRE(interface.counters().arp == 0);
  // Padding up to Ethernet's least frame is no fault.
  Bytes padded = good;
  padded.resize(60);
  REQUIRE(interface.input(padded, {}, kStart).kind == Kind::handled);
}

TEST_CASE("requests are answered at a limited rate, and answers wait in a bounded queue") {
  Interface interface(our_config());
  for (int i = 0; i < 500; ++i) {
    static_cast<void>(interface.input(arp_frame({.sender = peer4(), .target = our4()}), {}, kStart));
  }
  int replies = 0;
  while (interface.next_frame()) {
    ++replies;
  }
  REQUIRE(replies == 50);
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 500; ++i) {
      static_cast<void>(interface.input(arp_frame({.sender = peer4(), .target = our4()}), {},
                                        kStart + std::chrono::seconds(round)));
    }
  }
  replies = 0;
  while (interface.next_frame()) {
    ++replies;
  }
  REQUIRE(replies == 64);
  REQUIRE(interface.counters().reply_queue_full == 150 - 64);
}

TEST_CASE("a gateway outside of our networks is asked for with the address we have") {
  InterfaceConfig config = our_config();
  config.addresses = {{our4(), 32}};
  Interface interface(config);
  LinkHeader header;
  REQUIRE(interface.prepare(our4(), ip("192.0.2.1"), header, kStart) == Route::pending);
  REQUIRE(interface.next_frame() ==
          arp_frame({.sender_mac = kOurMac, .sender = our4(), .target = ip("10.0.0.254")}));
}
