// An impaired network between two or more ports. A frame enters at one port and leaves at others, towards
// each through a Direction.
//
// Two ports are a wire: frames from one go to the other. More are a switch, which learns stations by their
// source addresses, and floods frames for unknown stations, broadcasts and multicasts to all other ports.
// Towards each port lead one or more paths, each with its own impairments; the hash of a frame's flow chooses
// the path.
//
// No I/O and no clock (direction.h). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "tests/wire/emulator/direction.h"
#include "tests/wire/emulator/frame.h"

namespace tfabric::wire {

// Which port each station was last heard on, as an Ethernet switch learns it (IEEE 802.1Q §7.8), without
// ageing: a station that moves is learned again with its next frame.
class MacTable {
 public:
  // Further stations are not learned, and their frames are flooded: random addresses cost no memory.
  static constexpr std::size_t kMaxStations = 4096;

  void learn(const net::MacAddress& station, std::size_t port);
  [[nodiscard]] std::optional<std::size_t> port_of(const net::MacAddress& station) const;

 private:
  std::unordered_map<std::uint64_t, std::size_t> ports_;
};

class Emulator {
 public:
  // Takes at least two ports and one path. The store outlives the emulator.
  Emulator(std::size_t ports, FrameStore& store, std::uint64_t seed, std::size_t paths = 1);

  [[nodiscard]] std::size_t ports() const { return directions_.size() / paths_; }
  [[nodiscard]] std::size_t paths() const { return paths_; }
  // Accepts a frame that has entered at `port`.
  void offer(std::size_t port, Frame frame, Instant now);
  // Returns the number of frames for `port` that have arrived by `now`; the caller owns them. For one path
  // only: with several, use towards().
  std::size_t take(std::size_t port, std::span<Frame> out, Instant now) {
    return towards(port).take(out, now);
  }
  // The earliest Direction::next_event().
  [[nodiscard]] Instant next_event() const;

  // The direction towards `port` on `path`.
  [[nodiscard]] Direction& towards(std::size_t port, std::size_t path = 0) {
    return *directions_[port * paths_ + path];
  }
  [[nodiscard]] const Direction& towards(std::size_t port, std::size_t path = 0) const {
    return *directions_[port * paths_ + path];
  }

 private:
  Direction& direction_for(std::size_t to, const Frame& frame);
  void send(std::size_t from, std::size_t to, Frame frame, Instant now);
  void switch_frame(std::size_t from, Frame frame, Instant now);
  void flood(std::size_t from, Frame frame, Instant now);

  FrameStore* store_;
  std::size_t paths_;
  std::vector<std::unique_ptr<Direction>> directions_;  // by port and path
  MacTable stations_;
};

}  // namespace tfabric::wire
