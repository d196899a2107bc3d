// An impaired network between two ports: what enters at one leaves at the other. Towards each port lead one
// or more paths, each a Direction with its own impairments; the hash of a frame's flow chooses the path.
//
// No I/O and no clock (direction.h). Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/time.h"
#include "tests/wire/emulator/direction.h"
#include "tests/wire/emulator/frame.h"

namespace tfabric::wire {

class Emulator {
 public:
  static constexpr std::size_t kPorts = 2;

  // Takes at least one path. The store outlives the emulator.
  Emulator(FrameStore& store, std::uint64_t seed, std::size_t paths = 1) : store_(&store), paths_(paths) {
    SeededRandom random(seed);
    for (std::size_t i = 0; i < kPorts * paths; ++i) {
      directions_.push_back(std::make_unique<Direction>(store, random.fork()));
    }
  }

  [[nodiscard]] std::size_t paths() const { return paths_; }
  // Accepts a frame that has entered at `port`.
  void offer(std::size_t port, Frame frame, Instant now) {
    const std::size_t path = paths_ == 1 ? 0 : flow_hash(store_->head(frame)) % paths_;
    towards(1 - port, path).offer(frame, now);
  }
  // The earliest Direction::next_event().
  [[nodiscard]] Instant next_event() const {
    Instant next = kNever;
    for (const auto& direction : directions_) {
      next = std::min(next, direction->next_event());
    }
    return next;
  }
  // The direction towards `port` on `path`.
  [[nodiscard]] Direction& towards(std::size_t port, std::size_t path = 0) {
    return *directions_[port * paths_ + path];
  }

 private:
  FrameStore* store_;
  std::size_t paths_;
  std::vector<std::unique_ptr<Direction>> directions_;  // by port and path
};

}  // namespace tfabric::wire
