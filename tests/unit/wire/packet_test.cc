// What is done to the bytes of packets: ECN, corruption.
#include "tests/wire/emulator/packet.h"

#include <catch2/catch.hpp>

#include "tests/unit/wire/packets.h"
#include "tests/unit/wire/wire_run.h"

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
    direction.offer(store.add(packet), {});
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

TEST_CASE("truncated frames are never read beyond their end") {
  SeededRandom random(1);
  for (const PacketOptions& options : kKinds) {
    const Bytes whole = tcp_packet(options);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      static_cast<void>(corrupt(cut, random));
      static_cast<void>(mark_congestion(cut));
    }
  }
}

}  // namespace tfabric::wire
