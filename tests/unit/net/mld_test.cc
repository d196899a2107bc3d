// Multicast listener discovery as frames: the headers of reports, and the checks of queries.
#include <catch2/catch.hpp>

#include "frames.h"

using namespace tfabric;
using namespace tfabric::net;
using namespace std::chrono_literals;
using Kind = InputResult::Kind;

namespace {

const Bytes kAlert = bytes({58, 0, 5, 2, 0, 0, 1, 0});

struct Query {
  IpAddress source = ip("fe80::fe");
  IpAddress destination = ip("ff02::1");
  unsigned hop_limit = 1;
  Bytes options = kAlert;
  std::uint16_t vlan = 0;
};

// A query of MLDv2 about all groups, to be answered at once.
Bytes frame_of(const Query& query) {
  const Ip header{.source = query.source,
                  .destination = query.destination,
                  .protocol = query.options.empty() ? 58u : 0u,
                  .hop_limit = query.hop_limit};
  Bytes rest(16, std::byte{0});
  append(rest, bytes({2, 125, 0, 0}));
  Bytes payload = query.options;
  append(payload, icmp(header, 130, 0, 0, rest));
  return ethernet({{0x33, 0x33, 0, 0, 0, 1}}, kPeerMac, 0x86dd, packet(header, payload), query.vlan);
}

// Our report of the group of `ours`, as it must be on the wire.
Bytes report_frame(unsigned record, const IpAddress& source, const std::vector<IpAddress>& groups,
                   std::uint16_t vlan = 0) {
  Bytes rest;
  for (const IpAddress& group : groups) {
    append(rest, bytes({record, 0, 0, 0}));
    append(rest, bytes_of(group));
  }
  const Ip header{.source = source, .destination = ip("ff02::16"), .protocol = 0, .hop_limit = 1};
  Bytes payload = kAlert;
  append(payload, icmp(header, 143, 0, static_cast<std::uint32_t>(groups.size()), rest));
  return ethernet({{0x33, 0x33, 0, 0, 0, 0x16}}, kOurMac, 0x86dd, packet(header, payload), vlan);
}

const IpAddress kGroup = *parse_ip("ff02::1:ff00:1");
constexpr unsigned kIsExclude = 2, kToExclude = 4;

InterfaceConfig with_addresses(std::vector<Prefix> addresses) {
  InterfaceConfig config = our_config();
  config.addresses = std::move(addresses);
  return config;
}

}  // namespace

TEST_CASE(
    "the solicited-node group is joined when the addresses are announced, and again when they are anew") {
  Interface interface(our_config());
  for (int round = 0; round < 2; ++round) {
    interface.announce(kStart);
    REQUIRE(interface.next_frame() == report_frame(kToExclude, IpAddress{}, {kGroup}));
    int repetitions = 0;
    for (Instant now = kStart; now < kStart + 5s; now += 1ms) {
      interface.on_time(now);
      while (const auto frame = interface.next_frame()) {
        repetitions += *frame == report_frame(kToExclude, IpAddress{}, {kGroup}) ? 1 : 0;
      }
    }
    REQUIRE(repetitions == 1);
  }
}

TEST_CASE("the group is joined before the address is probed for, and not anew when it is announced") {
  Interface interface(with_addresses({{our6(), 64}}));
  interface.probe_addresses(kStart);
  REQUIRE(interface.next_frame() == report_frame(kToExclude, IpAddress{}, {kGroup}));
  REQUIRE(at8(*interface.next_frame(), 54) == 135);
  interface.probe_addresses(kStart);
  REQUIRE(at8(*interface.next_frame(), 54) == 135);
  interface.announce(kStart);
  REQUIRE(at8(*interface.next_frame(), 54) == 136);
  REQUIRE_FALSE(interface.next_frame());
}

TEST_CASE("a link-local address is the source of reports where there is one, and groups are reported once") {
  Interface interface(with_addresses({{our4(), 24}, {our6(), 64}, {ip("fd01::1"), 64}, {ip("fe80::2"), 64}}));
  interface.announce(kStart);
  REQUIRE(interface.next_frame() == report_frame(kToExclude, ip("fe80::2"), {kGroup, ip("ff02::1:ff00:2")}));
}

TEST_CASE("a query is answered, with the VLAN's tag where there is one") {
  const std::uint16_t vlan = GENERATE(std::uint16_t{0}, std::uint16_t{7});
  InterfaceConfig config = our_config();
  config.vlan = vlan;
  Interface interface(config);
  REQUIRE(interface.input(frame_of({.vlan = vlan}), {}, kStart).kind == Kind::handled);
  REQUIRE(interface.counters().mld == 1);
  REQUIRE(interface.next_deadline() == kStart);
  interface.on_time(kStart);
  REQUIRE(interface.next_frame() == report_frame(kIsExclude, IpAddress{}, {kGroup}, vlan));
  REQUIRE_FALSE(interface.next_frame());
}

TEST_CASE("options around the router alert, and a query to our own address, are no fault") {
  Interface interface(our_config());
  for (const Bytes& options :
       {bytes({58, 0, 0, 0, 5, 2, 0, 0}), bytes({58, 1, 1, 4, 9, 9, 9, 9, 0x3e, 0, 5, 2, 0, 0, 0, 0})}) {
    REQUIRE(interface.input(frame_of({.options = options}), {}, kStart).kind == Kind::handled);
  }
  REQUIRE(interface.input(frame_of({.destination = our6()}), {}, kStart).kind == Kind::handled);
  REQUIRE(interface.counters().mld == 3);
}

TEST_CASE("queries from beyond the link, and those without a router alert, are dropped") {
  std::vector<Query> bad{{.source = ip("2001:db8::1")}, {.source = IpAddress{}}, {.options = {}}};
  for (const unsigned hop_limit : {0u, 2u, 64u, 255u}) {
    bad.push_back({.hop_limit = hop_limit});
  }
  for (const Bytes& options : {bytes({58, 0, 1, 4, 0, 0, 0, 0}), bytes({58, 0, 5, 2, 0, 1, 1, 0}),
                               bytes({58, 0, 1, 99, 5, 2, 0, 0}), bytes({58, 0, 0, 0, 0, 0, 0, 5})}) {
    bad.push_back({.options = options});
  }
  for (const Query& query : bad) {
    Interface interface(our_config());
    REQUIRE(interface.input(frame_of(query), {}, kStart).kind == Kind::dropped);
    REQUIRE(interface.counters().malformed == 1);
    interface.on_time(kStart);
    REQUIRE_FALSE(interface.next_frame());
  }
}

TEST_CASE("a query that came in by another engine's queue is answered by that engine") {
  Interface interface(our_config());
  REQUIRE(interface.input(frame_of({}), {.overheard = true}, kStart).kind == Kind::handled);
  REQUIRE(interface.next_deadline() == kNever);
  REQUIRE(use_of(frame_of({})).kind == FrameUse::Kind::news);
}

TEST_CASE("queries without end are answered at a limited rate") {
  Interface interface(our_config());
  int reports = 0;
  for (int i = 0; i < 500; ++i) {
    static_cast<void>(interface.input(frame_of({}), {}, kStart));
    interface.on_time(kStart);
    while (interface.next_frame()) {
      ++reports;
    }
  }
  REQUIRE(reports == 50);
}

TEST_CASE("another host's report by MLDv1 answers a query of MLDv1 for us, if it is whole and of this link") {
  const auto pending_after = [](unsigned hop_limit, std::size_t bytes_left_out) {
    Interface interface(our_config());
    const Ip header{.source = ip("fe80::fe"), .destination = ip("ff02::1"), .protocol = 0, .hop_limit = 1};
    Bytes payload = kAlert;
    append(payload, icmp(header, 130, 0, 10000u << 16, Bytes(16, std::byte{0})));
    REQUIRE(interface.input(ip_frame(header, payload), {}, kStart).kind == Kind::handled);
    REQUIRE(interface.next_deadline() != kNever);
    const Ip other{.source = ip("fe80::5"), .destination = kGroup, .protocol = 0, .hop_limit = hop_limit};
    Bytes group = bytes_of(kGroup);
    group.resize(group.size() - bytes_left_out);
    payload = kAlert;
    append(payload, icmp(other, 131, 0, 0, group));
    const auto result = interface.input(ip_frame(other, payload), {}, kStart);
    REQUIRE((result.kind == Kind::handled) == (hop_limit == 1 && bytes_left_out == 0));
    return interface.next_deadline() != kNever;
  };
  REQUIRE_FALSE(pending_after(1, 0));
  REQUIRE(pending_after(2, 0));
  REQUIRE(pending_after(1, 1));
}

TEST_CASE("where the kernel owns the addresses, and on a wire with two ends, nothing is reported") {
  InterfaceConfig config = our_config();
  config.point_to_point = true;
  Interface interface(config);
  interface.announce(kStart);
  static_cast<void>(interface.input(frame_of({}), {}, kStart));
  interface.on_time(kStart);
  REQUIRE_FALSE(interface.next_frame());
}
