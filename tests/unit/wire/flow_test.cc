// Rates per flow, and flows hashed to several paths, in virtual time.
#include "tests/wire/emulator/flow.h"

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "tests/unit/wire/packets.h"
#include "tests/unit/wire/wire_run.h"
#include "tests/wire/emulator/emulator.h"

namespace tfabric::wire {
namespace {

constexpr std::size_t kPayload = 946;  // 1000 bytes of frame

Bytes packet_of(std::uint16_t port, const PacketOptions& options = {.payload = kPayload}) {
  Bytes packet = tcp_packet(options);
  net::put16(&packet[tcp_offset(options)], port);
  return packet;
}

std::uint16_t port_of(std::span<const std::byte> packet) { return net::get16(&packet[tcp_offset({})]); }

// Offers packets of every flow at twice `rate` for a second, and returns the bits that arrive of each.
std::map<std::uint16_t, double> share(const Impairments& impairments, std::uint16_t flows, double rate) {
  HeapStore store;
  Direction direction(store, SeededRandom(1));
  direction.set(impairments, {});
  std::map<std::uint16_t, double> bits;
  const auto step = Duration(static_cast<Duration::rep>(8000 * 1e9 / (2 * rate)));
  for (Instant now{}; now < Instant(seconds(1)); now += step) {
    for (std::uint16_t flow = 1; flow <= flows; ++flow) {
      direction.offer(store.add(packet_of(flow)), now);
    }
    std::array<Frame, 32> frames;
    for (std::size_t n = 0; (n = direction.take(frames, now)) > 0;) {
      for (const Frame& frame : std::span(frames).first(n)) {
        bits[port_of(HeapStore::bytes_of(frame))] += frame.size * 8.0;
        store.release(frame);
      }
    }
  }
  CHECK(balanced(direction.statistics()));
  return bits;
}

}  // namespace

TEST_CASE("each flow has its own rate, whatever the others send") {
  for (const auto& [flow, bits] : share({.flow_rate = 10'000'000, .queue_bytes = 20000}, 3, 10e6)) {
    INFO(flow);
    CHECK(bits == Approx(10e6).epsilon(0.03));
  }
}

TEST_CASE("the rate of the link limits all flows together") {
  double sum = 0;
  const Impairments impairments{.flow_rate = 10'000'000, .rate = 15'000'000, .queue_bytes = 20000};
  for (const auto& [flow, bits] : share(impairments, 3, 10e6)) {
    sum += bits;
  }
  CHECK(sum == Approx(15e6).epsilon(0.03));
}

TEST_CASE("frames that exceed their flow's queue are dropped and counted") {
  HeapStore store;
  Direction direction(store, SeededRandom(1));
  direction.set({.flow_rate = 8'000'000, .queue_bytes = 3000}, {});
  for (int i = 0; i < 10; ++i) {
    direction.offer(store.add(packet_of(7)), {});
  }
  direction.offer(store.add(packet_of(8)), {});
  CHECK(direction.statistics().dropped.flow == 6);  // one is being sent, three wait
  CHECK(direction.statistics().queued == 5);
  CHECK(direction.next_event() == Instant(milliseconds(1)));
  direction.set({.link = LinkState::down}, {});
  CHECK(direction.statistics().dropped.down == 5);
  CHECK(store.held == 0);
}

TEST_CASE("a flow is identified by addresses, protocol and ports") {
  for (const bool v4 : {true, false}) {
    const PacketOptions options{.v4 = v4, .payload = 10};
    const std::uint64_t hash = flow_hash(packet_of(5, options));
    CHECK(flow_hash(packet_of(5, {.v4 = v4, .payload = 900})) == hash);
    CHECK(flow_hash(packet_of(6, options)) != hash);
    CHECK(flow_hash(tcp_packet({.v4 = v4, .payload = 10, .vlan = true})) == flow_hash(packet_of(0, options)));
    // Only the first fragment has ports, so they are not used: all fragments take one path.
    Bytes fragment = packet_of(5, options);
    if (v4) {
      net::put16(&fragment[20], 0x2000);
      Bytes other = packet_of(6, options);
      net::put16(&other[20], 0x0001);
      CHECK(flow_hash(fragment) == flow_hash(other));
    }
    for (std::size_t size = 0; size < fragment.size(); ++size) {
      static_cast<void>(flow_hash(std::span(fragment).first(size)));
    }
  }
}

TEST_CASE("flows spread over the paths, each keeps to one, and paths are independent") {
  constexpr std::size_t kPaths = 4;
  HeapStore store;
  Emulator emulator(store, 1, kPaths);
  std::map<std::size_t, std::set<std::uint16_t>> taken;
  for (int round = 0; round < 3; ++round) {
    for (std::uint16_t port = 50000; port < 50064; ++port) {
      emulator.offer(0, store.add(packet_of(port)), {});
    }
  }
  for (std::size_t path = 0; path < kPaths; ++path) {
    std::array<Frame, 256> frames;
    const std::size_t n = emulator.towards(1, path).take(frames, {});
    for (const Frame& frame : std::span(frames).first(n)) {
      taken[path].insert(port_of(HeapStore::bytes_of(frame)));
      store.release(frame);
    }
    CHECK(n == 3 * taken[path].size());
    CHECK(taken[path].size() >= 8);  // of 16 on average
  }
  emulator.towards(1, 2).set({.loss = 1}, {});
  emulator.offer(0, store.add(packet_of(*taken[2].begin())), {});
  emulator.offer(0, store.add(packet_of(*taken[3].begin())), {});
  CHECK(emulator.towards(1, 2).statistics().dropped.loss == 1);
  std::array<Frame, 1> frames;
  REQUIRE(emulator.towards(1, 3).take(frames, {}) == 1);
  store.release(frames[0]);
  CHECK(store.held == 0);
}

}  // namespace tfabric::wire
