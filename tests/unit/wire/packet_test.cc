// What is done to the bytes of packets: ECN, corruption, MTU with ICMP.
#include "tests/wire/emulator/packet.h"

#include <catch2/catch.hpp>

#include "tests/unit/wire/packets.h"
#include "tests/unit/wire/wire_run.h"
#include "tests/wire/emulator/layout.h"

namespace tfabric::wire {
namespace {

const std::vector<PacketOptions> kKinds{{.v4 = true},
                                        {.v4 = false},
                                        {.v4 = true, .payload = 101, .vlan = true},
                                        {.v4 = false, .payload = 3, .vlan = true}};

unsigned ecn_of(const Bytes& packet, const PacketOptions& options) {
  return net::get16(&packet[ip_offset(options)]) >> (options.v4 ? 0 : 4) & 3;
}

}  // namespace

TEST_CASE("the packets of these tests have right checksums") {
  for (const PacketOptions& options : kKinds) {
    const Bytes packet = tcp_packet(options);
    CHECK(l4_sum(packet, options) == 0);
    CHECK((!options.v4 || header_sum(packet, ip_offset(options)) == 0));
  }
}

TEST_CASE("CE is set in ECN-capable packets, and the header's checksum stays right") {
  for (PacketOptions options : kKinds) {
    for (const unsigned ecn : {0u, 1u, 2u, 3u}) {
      options.ecn = ecn;
      Bytes packet = tcp_packet(options);
      CHECK(mark_congestion(packet) == (ecn == 1 || ecn == 2));
      CHECK(ecn_of(packet, options) == (ecn == 0 ? 0u : 3u));
      CHECK((!options.v4 || header_sum(packet, ip_offset(options)) == 0));
      CHECK(l4_sum(packet, options) == 0);
    }
  }
  Bytes arp(60);
  net::put16(&arp[12], net::kEtherTypeArp);
  CHECK_FALSE(mark_congestion(arp));
  for (std::size_t size = 0; size < 54; ++size) {
    Bytes cut = tcp_packet({.payload = 0, .ecn = 1});
    cut.resize(size);
    CHECK_FALSE(mark_congestion(cut));
  }
}

TEST_CASE("frames are marked while more than the threshold waits") {
  HeapStore store;
  Direction direction(store, SeededRandom(1));
  const Bytes packet = tcp_packet({.payload = 946, .ecn = 1});  // 1000 bytes
  direction.set({.rate = 8'000'000, .ecn_bytes = 2000}, {});
  for (int i = 0; i < 6; ++i) {
    static_cast<void>(direction.offer(store.add(packet), {}));
  }
  // The first is on the wire, three wait before the queue exceeds 2000 bytes.
  CHECK(direction.statistics().marked == 2);
  std::array<Frame, 8> out;
  REQUIRE(direction.take(out, Instant(seconds(1))) == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(ecn_of(HeapStore::bytes_of(out[i]), {}) == (i < 4 ? 1u : 3u));
    store.release(out[i]);
  }
}

TEST_CASE("a checksum always detects corruption") {
  SeededRandom random(1);
  for (const PacketOptions& options : kKinds) {
    const Bytes good = tcp_packet(options);
    for (int i = 0; i < 3000; ++i) {
      Bytes bad = good;
      REQUIRE(corrupt(bad, random));
      REQUIRE(bad != good);
      REQUIRE(l4_sum(bad, options) != 0);
    }
  }
}

TEST_CASE("a packet without a checksum of its own is corrupted in the IPv4 header") {
  SeededRandom random(1);
  Bytes good = tcp_packet({});
  net::put8(&good[14 + 9], 132);  // SCTP has another kind of checksum
  net::put16(&good[14 + 10], 0);
  net::Checksum sum;
  sum.add(std::span(good).subspan(14, 20));
  store(&good[14 + 10], sum);
  for (int i = 0; i < 1000; ++i) {
    Bytes bad = good;
    REQUIRE(corrupt(bad, random));
    REQUIRE(header_sum(bad) != 0);
  }
}

TEST_CASE("corruption with a valid checksum changes only the payload of TCP") {
  SeededRandom random(1);
  for (const PacketOptions& options : kKinds) {
    const Bytes good = tcp_packet(options);
    const std::size_t payload = tcp_offset(options) + 20;
    for (int i = 0; i < 1000; ++i) {
      Bytes bad = good;
      REQUIRE(corrupt_valid(bad, random));
      REQUIRE(l4_sum(bad, options) == 0);
      REQUIRE_FALSE(std::equal(bad.begin() + static_cast<std::ptrdiff_t>(payload), bad.end(),
                               good.begin() + static_cast<std::ptrdiff_t>(payload)));
      bad[tcp_offset(options) + 16] = good[tcp_offset(options) + 16];
      bad[tcp_offset(options) + 17] = good[tcp_offset(options) + 17];
      REQUIRE(std::equal(bad.begin(), bad.begin() + static_cast<std::ptrdiff_t>(payload), good.begin()));
    }
  }
  Bytes empty = tcp_packet({.payload = 0});
  CHECK_FALSE(corrupt_valid(empty, random));
  Bytes udp = tcp_packet({});
  net::put8(&udp[14 + 9], 17);
  CHECK_FALSE(corrupt_valid(udp, random));
}

TEST_CASE("truncated frames are never read beyond their end") {
  SeededRandom random(1);
  for (const PacketOptions& options : kKinds) {
    const Bytes whole = tcp_packet(options);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      static_cast<void>(corrupt(cut, random));
      static_cast<void>(corrupt_valid(cut, random));
      static_cast<void>(mark_congestion(cut));
      static_cast<void>(too_big_answer(cut, 100));
    }
  }
}

TEST_CASE("frames above the MTU are dropped, those of the MTU pass, also with a VLAN tag") {
  for (const bool vlan : {false, true}) {
    HeapStore store;
    Direction direction(store, SeededRandom(1));
    direction.set({.mtu = 1500}, {});
    static_cast<void>(direction.offer(store.add(tcp_packet({.payload = 1460, .vlan = vlan})), {}));
    CHECK(direction.statistics().dropped.mtu == 0);
    CHECK_FALSE(direction.offer(store.add(tcp_packet({.payload = 1461, .vlan = vlan})), {}).has_value());
    CHECK(direction.statistics().dropped.mtu == 1);
  }
}

TEST_CASE("the sender of a packet that is too big gets the MTU in an ICMP error, over IPv4 and IPv6") {
  for (PacketOptions options : kKinds) {
    options.payload = 3000;
    const Bytes packet = tcp_packet(options);
    const Bytes answer = too_big_answer(packet, 1400);
    const std::size_t icmp = tcp_offset(options);
    REQUIRE(answer.size() == ip_offset(options) + (options.v4 ? 576 : 1280));
    CHECK(std::equal(answer.begin(), answer.begin() + 6, packet.begin() + 6));
    CHECK(std::equal(answer.begin() + 6, answer.begin() + 12, packet.begin()));
    CHECK(ip_layout(answer)->end == answer.size());
    if (options.v4) {
      CHECK(header_sum(answer, ip_offset(options)) == 0);
      net::Checksum sum;
      sum.add(std::span(answer).subspan(icmp));
      CHECK(sum.finish() == 0);
      CHECK(net::get16(&answer[icmp]) == 0x0304);
      CHECK(net::get16(&answer[icmp + 6]) == 1400);
    } else {
      CHECK(l4_sum(answer, options, net::kProtocolIcmpv6) == 0);
      CHECK(net::get16(&answer[icmp]) == 0x0200);
      CHECK(net::get32(&answer[icmp + 4]) == 1400);
    }
    CHECK(std::equal(answer.begin() + static_cast<std::ptrdiff_t>(icmp) + 8, answer.end(),
                     packet.begin() + static_cast<std::ptrdiff_t>(ip_offset(options))));
  }
}

TEST_CASE("a packet that may be fragmented, an ICMP error and a group's packet cause no ICMP error") {
  CHECK(too_big_answer(tcp_packet({.payload = 3000, .dont_fragment = false}), 1400).empty());
  for (const bool v4 : {true, false}) {
    const Bytes error = too_big_answer(tcp_packet({.v4 = v4, .payload = 3000}), 1400);
    Bytes again = error;
    if (v4) {
      net::put16(&again[14 + 6], 0x4000);
    }
    CHECK(too_big_answer(again, 500).empty());
    Bytes group = tcp_packet({.v4 = v4, .payload = 3000});
    net::put8(group.data(), 0x33);
    CHECK(too_big_answer(group, 1400).empty());
  }
}

TEST_CASE("with too_big=icmp the error is returned and counted") {
  HeapStore store;
  Direction direction(store, SeededRandom(1));
  direction.set({.mtu = 1400, .too_big = TooBig::icmp}, {});
  const auto answer = direction.offer(store.add(tcp_packet({.payload = 3000})), {});
  REQUIRE(answer.has_value());
  CHECK(HeapStore::bytes_of(*answer).size() == 14 + 576);
  CHECK(direction.statistics().icmp == 1);
  CHECK(direction.statistics().dropped.mtu == 1);
  store.release(*answer);
  CHECK(store.held == 0);
}

}  // namespace tfabric::wire
