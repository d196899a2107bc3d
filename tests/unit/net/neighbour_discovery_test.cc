#include <catch2/catch.hpp>
#include <cstring>

#include "frames.h"

using namespace tfabric;
using namespace tfabric::net;
using namespace std::chrono_literals;
using Kind = InputResult::Kind;
using Route = Interface::Route;

namespace {

constexpr unsigned kSolicitation = 135, kAdvertisement = 136, kSourceOption = 1, kTargetOption = 2;
constexpr std::uint32_t kSolicited = 0x40000000, kOverride = 0x20000000;
constexpr MacAddress kOtherMac{{2, 0, 0, 0, 0, 9}};

Bytes link_option(unsigned kind, const MacAddress& mac) {
  Bytes option = bytes({kind, 1});
  append(option, std::as_bytes(std::span(mac.bytes)));
  return option;
}

struct Message {
  unsigned type = kSolicitation;
  unsigned code = 0;
  std::uint32_t flags = 0;
  unsigned hop_limit = 255;
  IpAddress source = peer6();
  IpAddress destination = our6();
  IpAddress target = our6();
  Bytes options = link_option(kSourceOption, kPeerMac);
};

Bytes frame_of(const Message& message) {
  Bytes rest = bytes_of(message.target);
  append(rest, message.options);
  const Ip header{.source = message.source,
                  .destination = message.destination,
                  .protocol = 58,
                  .hop_limit = message.hop_limit};
  return ip_frame(header, icmp(header, message.type, message.code, message.flags, rest));
}

Message advertisement() {
  return {.type = kAdvertisement,
          .flags = kSolicited | kOverride,
          .target = peer6(),
          .options = link_option(kTargetOption, kPeerMac)};
}

Route route(Interface& interface, const IpAddress& address, LinkHeader& header) {
  return interface.prepare(our6(), address, header, kStart);
}

bool knows_by_discovery(Interface& interface, const IpAddress& address, const MacAddress& mac) {
  LinkHeader header;
  return route(interface, address, header) == Route::ready &&
         std::memcmp(header.bytes.data(), mac.bytes.data(), mac.bytes.size()) == 0;
}

}  // namespace

TEST_CASE("a solicitation for our address is answered to who asks, and teaches us who it is") {
  Interface interface(our_config());
  REQUIRE(interface.input(frame_of({.destination = ip("ff02::1:ff00:1")}), {}, kStart).kind == Kind::handled);
  REQUIRE(interface.counters().nd == 1);
  const auto reply = interface.next_frame();
  REQUIRE(reply.has_value());
  const Ip header{.source = our6(), .destination = peer6(), .protocol = 58, .hop_limit = 255};
  Bytes rest = bytes_of(our6());
  append(rest, link_option(kTargetOption, kOurMac));
  REQUIRE(*reply == ethernet(kPeerMac, kOurMac, 0x86dd,
                             packet(header, icmp(header, kAdvertisement, 0, kSolicited | kOverride, rest))));
  REQUIRE(knows_by_discovery(interface, peer6(), kPeerMac));
}

TEST_CASE("a solicitation for another host is not answered") {
  Interface interface(our_config());
  REQUIRE(interface.input(frame_of({.target = ip("fd00::9")}), {}, kStart).kind == Kind::handled);
  REQUIRE_FALSE(interface.next_frame());
  REQUIRE_FALSE(knows_by_discovery(interface, peer6(), kPeerMac));
}

TEST_CASE("a probe for a duplicate of our address is answered to all nodes") {
  Interface interface(our_config());
  const Message probe{.source = ip("::"), .destination = ip("ff02::1:ff00:1"), .options = {}};
  REQUIRE(interface.input(frame_of(probe), {}, kStart).kind == Kind::handled);
  const auto reply = interface.next_frame();
  REQUIRE(reply.has_value());
  REQUIRE(at16(*reply, 0) == 0x3333);
  REQUIRE(at8(*reply, 14 + 40 + 4) == 0x20);  // not solicited, override
  REQUIRE(Bytes(reply->begin() + 38, reply->begin() + 54) == bytes_of(ip("ff02::1")));
}

TEST_CASE("a packet that waits for its neighbour solicits it, and leaves once it has answered") {
  Interface interface(our_config());
  LinkHeader header;
  REQUIRE(route(interface, peer6(), header) == Route::pending);
  const auto request = interface.next_frame();
  REQUIRE(request.has_value());
  const Ip ip_header{.source = our6(), .destination = ip("ff02::1:ff00:2"), .protocol = 58, .hop_limit = 255};
  Bytes rest = bytes_of(peer6());
  append(rest, link_option(kSourceOption, kOurMac));
  REQUIRE(*request == ethernet({{0x33, 0x33, 0xff, 0, 0, 2}}, kOurMac, 0x86dd,
                               packet(ip_header, icmp(ip_header, kSolicitation, 0, 0, rest))));
  REQUIRE(interface.input(frame_of(advertisement()), {}, kStart).kind == Kind::handled);
  REQUIRE(knows_by_discovery(interface, peer6(), kPeerMac));
}

TEST_CASE("an advertisement of our address by another host is a conflict, and by ourselves none") {
  Interface interface(our_config());
  Message ours = advertisement();
  ours.target = our6();
  ours.options = link_option(kTargetOption, kOurMac);
  REQUIRE(interface.input(frame_of(ours), {}, kStart).kind == Kind::handled);
  REQUIRE_FALSE(interface.conflict());
  ours.options = link_option(kTargetOption, kOtherMac);
  REQUIRE(interface.input(frame_of(ours), {}, kStart).kind == Kind::handled);
  REQUIRE(interface.conflict()->address == our6());
  REQUIRE(interface.conflict()->mac == kOtherMac);
}

TEST_CASE("an unsolicited advertisement creates nothing") {
  Interface interface(our_config());
  REQUIRE(interface.input(frame_of(advertisement()), {}, kStart).kind == Kind::handled);
  REQUIRE_FALSE(knows_by_discovery(interface, peer6(), kPeerMac));
}

TEST_CASE("what a router has forwarded is no neighbour's") {
  for (Message message : {Message{}, advertisement()}) {
    Interface interface(our_config());
    LinkHeader header;
    static_cast<void>(route(interface, peer6(), header));
    static_cast<void>(interface.next_frame());
    for (const unsigned hop_limit : {0u, 1u, 64u, 254u}) {
      message.hop_limit = hop_limit;
      REQUIRE(interface.input(frame_of(message), {}, kStart).kind == Kind::dropped);
    }
    REQUIRE(interface.counters().malformed == 4);
    REQUIRE_FALSE(interface.next_frame());
    REQUIRE_FALSE(knows_by_discovery(interface, peer6(), kPeerMac));
  }
}

TEST_CASE("messages with malformed options, codes, targets or destinations are dropped") {
  std::vector<Message> bad;
  for (const Message& good : {Message{}, advertisement()}) {
    for (const Bytes& options :
         {bytes({1, 0, 0, 0, 0, 0, 0, 0}), bytes({1, 2, 0, 0, 0, 0, 0, 0}), bytes({1}), bytes({99, 1, 0, 0}),
          link_option(kSourceOption, kEverybody), link_option(kTargetOption, {{0x33, 0x33, 0, 0, 0, 1}})}) {
      bad.push_back(good);
      bad.back().options = options;
    }
    // A good option does not save what follows it.
    bad.push_back(good);
    append(bad.back().options, bytes({5, 0, 0, 0, 0, 0, 0, 0}));
    bad.push_back(good);
    bad.back().code = 1;
    bad.push_back(good);
    bad.back().target = ip("ff02::1");
    bad.push_back(good);
    bad.back().source = ip("ff02::5");
  }
  bad.push_back({.source = ip("::"), .destination = ip("ff02::1:ff00:1")});  // with a source option
  bad.push_back({.source = ip("::"), .options = {}});                        // not to a group
  bad.push_back(advertisement());
  bad.back().destination = ip("ff02::1");  // solicited, and yet to all
  for (const Message& message : bad) {
    Interface interface(our_config());
    LinkHeader header;
    static_cast<void>(route(interface, peer6(), header));
    static_cast<void>(interface.next_frame());
    REQUIRE(interface.input(frame_of(message), {}, kStart).kind == Kind::dropped);
    REQUIRE(interface.counters().malformed == 1);
    REQUIRE_FALSE(interface.next_frame());
    REQUIRE_FALSE(knows_by_discovery(interface, peer6(), kPeerMac));
  }
}

TEST_CASE("unknown options are passed over") {
  Interface interface(our_config());
  Message message{.options = bytes({14, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})};
  append(message.options, link_option(kSourceOption, kOtherMac));
  REQUIRE(interface.input(frame_of(message), {}, kStart).kind == Kind::handled);
  REQUIRE(knows_by_discovery(interface, peer6(), kOtherMac));
}

TEST_CASE("IPv6 does not speak for IPv4 neighbours") {
  Interface interface(our_config());
  LinkHeader header;
  REQUIRE(interface.prepare(our4(), peer4(), header, kStart) == Route::pending);
  static_cast<void>(interface.next_frame());
  // IPv4 addresses are kept as ::ffff:a.b.c.d, which must not make this an answer to our ARP request.
  Message spoof = advertisement();
  spoof.target = peer4();
  Bytes rest;
  append(rest, spoof.target.bytes);
  append(rest, spoof.options);
  const Ip ip_header{.source = peer6(), .destination = our6(), .protocol = 58, .hop_limit = 255};
  const auto forged = ip_frame(ip_header, icmp(ip_header, kAdvertisement, 0, kSolicited | kOverride, rest));
  REQUIRE(interface.input(forged, {}, kStart).kind == Kind::dropped);
  REQUIRE(interface.prepare(our4(), peer4(), header, kStart) == Route::pending);
}

TEST_CASE("one forged advertisement does not change a neighbour in use, and has it polled") {
  Interface interface(our_config());
  LinkHeader header;
  REQUIRE(route(interface, peer6(), header) == Route::pending);
  static_cast<void>(interface.next_frame());
  REQUIRE(interface.input(frame_of(advertisement()), {}, kStart).kind == Kind::handled);
  Message forged = advertisement();
  forged.options = link_option(kTargetOption, kOtherMac);
  forged.flags = GENERATE(std::uint32_t{0}, kSolicited, kOverride, kSolicited | kOverride);
  const auto generation = interface.generation();
  REQUIRE(interface.input(frame_of(forged), {}, kStart + 2s).kind == Kind::handled);
  REQUIRE(interface.generation() == generation);
  REQUIRE(knows_by_discovery(interface, peer6(), kPeerMac));
  interface.on_time(kStart + 2s);
  const auto poll = interface.next_frame();
  REQUIRE(poll.has_value());
  const Ip ip_header{.source = our6(), .destination = peer6(), .protocol = 58, .hop_limit = 255};
  Bytes rest = bytes_of(peer6());
  append(rest, link_option(kSourceOption, kOurMac));
  REQUIRE(*poll ==
          ethernet(kPeerMac, kOurMac, 0x86dd, packet(ip_header, icmp(ip_header, kSolicitation, 0, 0, rest))));
  // The answer may lack both the flag and the option, since we have said by unicast whom we mean.
  Message answer = advertisement();
  answer.flags = kSolicited;
  answer.options = {};
  REQUIRE(interface.input(frame_of(answer), {}, kStart + 2s).kind == Kind::handled);
  REQUIRE(interface.next_deadline() == kStart + 32s);
}

TEST_CASE("our IPv6 addresses are announced to all nodes") {
  InterfaceConfig config = our_config();
  config.addresses = {{our6(), 64}};
  Interface interface(config);
  interface.announce(kStart);
  REQUIRE(interface.next_frame().has_value());  // the group's report: mld_test.cc
  const auto frame = interface.next_frame();
  REQUIRE(frame.has_value());
  REQUIRE(at8(*frame, 54) == kAdvertisement);
  REQUIRE_FALSE(interface.next_frame());
}

TEST_CASE("truncated messages are malformed") {
  const Bytes good = frame_of({});
  for (std::size_t size = 54 + 8; size < good.size(); ++size) {
    Interface interface(our_config());
    const Bytes message(good.begin() + 54, good.begin() + static_cast<std::ptrdiff_t>(size));
    Ip header{.source = peer6(), .destination = our6(), .protocol = 58, .hop_limit = 255};
    const Bytes rest(message.begin() + 8, message.end());
    const auto result =
        interface.input(ip_frame(header, icmp(header, kSolicitation, 0, 0, rest)), {}, kStart);
    // Without any option it is whole: the frame's own source is who asks.
    REQUIRE((result.kind == Kind::handled) == (rest.size() == 16));
  }
}
