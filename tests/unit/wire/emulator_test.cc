// Between ports: a wire of two, a switch of more.
#include "tests/wire/emulator/emulator.h"

#include <array>
#include <catch2/catch.hpp>

#include "tests/unit/wire/packets.h"
#include "tests/unit/wire/wire_run.h"

namespace tfabric::wire {
namespace {

class Network {
 public:
  explicit Network(std::size_t ports) : emulator(ports, store, 1) {}

  // Sends a frame whose addresses end in these bytes (0xff: broadcast); returns the ports that it leaves at.
  std::vector<std::size_t> send(std::size_t port, std::uint8_t from, std::uint8_t to) {
    Bytes frame(60);
    net::put8(&frame[0], to == 0xff ? 0xff : 0x02);
    net::put8(&frame[5], to);
    net::put8(&frame[6], 0x02);
    net::put8(&frame[11], from);
    emulator.offer(port, store.add(std::move(frame)), {});
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < emulator.ports(); ++i) {
      std::array<Frame, 4> frames;
      const std::size_t n = emulator.take(i, frames, {});
      for (const Frame& arrived : std::span(frames).first(n)) {
        out.push_back(i);
        store.release(arrived);
      }
    }
    return out;
  }

  HeapStore store;
  Emulator emulator;
};

using Ports = std::vector<std::size_t>;

}  // namespace

TEST_CASE("two ports are a wire, whatever the addresses") {
  Network network(2);
  CHECK(network.send(0, 1, 2) == Ports{1});
  CHECK(network.send(1, 1, 1) == Ports{0});
  CHECK(network.send(1, 9, 0xff) == Ports{0});
}

TEST_CASE("more ports are a switch that learns") {
  Network network(4);
  CHECK(network.send(0, 1, 2) == Ports{1, 2, 3});
  CHECK(network.send(3, 2, 0xff) == Ports{0, 1, 2});
  CHECK(network.send(0, 1, 2) == Ports{3});
  CHECK(network.send(3, 2, 1) == Ports{0});
  CHECK(network.send(3, 5, 2).empty());      // both stations are behind port 3
  CHECK(network.send(1, 2, 1) == Ports{0});  // station 2 has moved
  CHECK(network.send(0, 1, 2) == Ports{1});
  CHECK(network.store.held == 0);
}

TEST_CASE("stations beyond the table's size are not learned") {
  MacTable table;
  for (unsigned i = 0; i <= MacTable::kMaxStations; ++i) {
    table.learn({{2, 0, 0, 0, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)}}, 1);
  }
  CHECK(table.port_of({{2, 0, 0, 0, 0, 0}}) == 1u);
  CHECK_FALSE(table.port_of({{2, 0, 0, 0, 0x10, 0}}).has_value());
}

TEST_CASE("directions are independent: one may lose all frames, the other none") {
  Network network(2);
  network.emulator.towards(1).set({.loss = 1}, {});
  CHECK(network.send(0, 1, 2).empty());
  CHECK(network.send(1, 2, 1) == Ports{0});
  CHECK(network.emulator.towards(1).statistics().dropped.loss == 1);
  CHECK(network.emulator.towards(0).statistics().delivered == 1);
}

TEST_CASE("an ICMP error goes back through the direction to its receiver") {
  Network network(2);
  network.emulator.towards(1).set({.mtu = 1400, .too_big = TooBig::icmp}, {});
  network.emulator.towards(0).set({.delay = milliseconds(3)}, {});
  network.emulator.offer(0, network.store.add(tcp_packet({.payload = 3000})), {});
  CHECK(network.emulator.next_event() == Instant(milliseconds(3)));
  std::array<Frame, 4> frames;
  REQUIRE(network.emulator.take(0, frames, Instant(milliseconds(3))) == 1);
  network.store.release(frames[0]);
  CHECK(network.store.held == 0);
}

TEST_CASE("a switch drops a runt") {
  Network network(3);
  network.emulator.offer(0, network.store.add(Bytes(11)), {});
  CHECK(network.emulator.next_event() == kNever);
  CHECK(network.store.held == 0);
}

}  // namespace tfabric::wire
