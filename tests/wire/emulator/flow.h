// Flows, as a network's switches see them: which flow a frame belongs to, and a rate limit for each.
//
// No I/O and no clock (direction.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/time.h"

namespace tfabric::wire {

// Returns a hash of the 5-tuple in the first bytes of a frame. As with most switches, the ports of TCP and
// UDP are not used if the packet is a fragment. Frames without IP, and frames that are too short, are one
// flow.
[[nodiscard]] std::uint64_t flow_hash(std::span<const std::byte> frame);

// Limits each flow to a rate, as clouds do. Each flow has a queue, of which only the end is stored.
class FlowShaper {
 public:
  // Returns when a frame that arrives now may go on at `rate` bit/s; nothing if `queue_bytes` wait already.
  std::optional<Instant> admit(std::uint64_t flow, std::uint32_t bytes, std::uint64_t rate,
                               std::uint64_t queue_bytes, Instant now);
  void clear() { free_at_.clear(); }

 private:
  std::unordered_map<std::uint64_t, Instant> free_at_;  // by flow: when its last frame has gone on
};

}  // namespace tfabric::wire
