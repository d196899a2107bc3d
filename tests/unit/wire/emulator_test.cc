// Between the two ports.
#include "tests/wire/emulator/emulator.h"

#include <array>
#include <catch2/catch.hpp>

#include "tests/unit/wire/packets.h"
#include "tests/unit/wire/wire_run.h"

namespace tfabric::wire {
namespace {

class Network {
 public:
  // Sends a frame whose addresses end in these bytes (0xff: broadcast); returns the ports that it leaves at.
  std::vector<std::size_t> send(std::size_t port, std::uint8_t from, std::uint8_t to) {
    Bytes frame(60);
    net::put8(&frame[0], to == 0xff ? 0xff : 0x02);
    net::put8(&frame[5], to);
    net::put8(&frame[6], 0x02);
    net::put8(&frame[11], from);
    emulator.offer(port, store.add(std::move(frame)), {});
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < Emulator::kPorts; ++i) {
      std::array<Frame, 4> frames;
      const std::size_t n = emulator.towards(i).take(frames, {});
      for (const Frame& arrived : std::span(frames).first(n)) {
        out.push_back(i);
        store.release(arrived);
      }
    }
    return out;
  }

  HeapStore store;
  Emulator emulator{store, 1};
};

using Ports = std::vector<std::size_t>;

}  // namespace

TEST_CASE("two ports are a wire, whatever the addresses") {
  Network network;
  CHECK(network.send(0, 1, 2) == Ports{1});
  CHECK(network.send(1, 1, 1) == Ports{0});
  CHECK(network.send(1, 9, 0xff) == Ports{0});
}

TEST_CASE("directions are independent: one may lose all frames, the other none") {
  Network network;
  network.emulator.towards(1).set({.loss = 1}, {});
  CHECK(network.send(0, 1, 2).empty());
  CHECK(network.send(1, 2, 1) == Ports{0});
  CHECK(network.emulator.towards(1).statistics().dropped.loss == 1);
  CHECK(network.emulator.towards(0).statistics().delivered == 1);
}

}  // namespace tfabric::wire
