// A bad network between two or more ports: frames in at one port, out at others, each towards a port through
// that port's Direction.
//
// Two ports are a wire: what comes in at one goes to the other. More are a switch, which learns stations by
// their source addresses and sends what it cannot place, broadcasts and multicasts to all other ports.
// Towards each port lead one or more paths, each with impairments of its own; a frame takes the one that its
// flow's hash chooses.
//
// No I/O and no clock (direction.h). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/time.h"
#include "tools/wire/emulator/direction.h"
#include "tools/wire/emulator/frame.h"
#include "tools/wire/emulator/mac_table.h"

namespace tfabric::wire {

class Emulator {
 public:
  // At least two ports and one path. The store outlives the emulator.
  Emulator(std::size_t ports, FrameStore& store, std::uint64_t seed, std::size_t paths = 1);

  [[nodiscard]] std::size_t ports() const { return directions_.size() / paths_; }
  [[nodiscard]] std::size_t paths() const { return paths_; }
  // Takes a frame that has come in at `port`.
  void offer(std::size_t port, Frame frame, Instant now);
  // What is to go out at `port` by `now`; the caller owns the frames. With several paths, ask each.
  std::size_t take(std::size_t port, std::span<Frame> out, Instant now) {
    return towards(port).take(out, now);
  }
  // Of all directions, see Direction::next_event().
  [[nodiscard]] Instant next_event() const;

  // The direction towards `port` on `path`.
  [[nodiscard]] Direction& towards(std::size_t port, std::size_t path = 0) {
    return *directions_[port * paths_ + path];
  }
  [[nodiscard]] const Direction& towards(std::size_t port, std::size_t path = 0) const {
    return *directions_[port * paths_ + path];
  }

 private:
  Direction& way(std::size_t to, const Frame& frame);
  void send(std::size_t from, std::size_t to, Frame frame, Instant now);
  void switch_frame(std::size_t from, Frame frame, Instant now);
  void flood(std::size_t from, Frame frame, Instant now);

  FrameStore* store_;
  std::size_t paths_;
  std::vector<std::unique_ptr<Direction>> directions_;  // by the port they lead to, and their path
  MacTable stations_;
};

}  // namespace tfabric::wire
