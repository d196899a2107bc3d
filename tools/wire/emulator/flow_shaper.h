// Holds each flow to a rate of its own, as clouds do: a queue for each, of which only its end is remembered.
//
// No I/O and no clock (direction.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/time.h"

namespace tfabric::wire {

class FlowShaper {
 public:
  // Flows beyond are not held back. Those that are idle are forgotten first.
  static constexpr std::size_t kMaxFlows = 4096;

  // When a frame that comes now may go on at `rate` bit/s. Empty: `queue_bytes` wait already.
  std::optional<Instant> admit(std::uint64_t flow, std::uint32_t bytes, std::uint64_t rate,
                               std::uint64_t queue_bytes, Instant now);
  void clear() { free_at_.clear(); }

 private:
  bool make_room(Instant now);

  std::unordered_map<std::uint64_t, Instant> free_at_;  // when a flow's last frame has gone on
};

}  // namespace tfabric::wire
