#include "tools/wire/emulator/flow_shaper.h"

#include <algorithm>

namespace tfabric::wire {
namespace {

Duration time_of(std::uint64_t bytes, std::uint64_t rate) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(bytes) * 8e9 / static_cast<double>(rate)));
}

}  // namespace

std::optional<Instant> FlowShaper::admit(std::uint64_t flow, std::uint32_t bytes, std::uint64_t rate,
                                         std::uint64_t queue_bytes, Instant now) {
  if (!free_at_.contains(flow) && !make_room(now)) {
    return now;
  }
  Instant& free_at = free_at_[flow];
  const Instant start = std::max(free_at, now);
  // What waits takes as long as it would to send; the frame being sent is not part of it.
  if (start - now > time_of(queue_bytes, rate)) {
    return std::nullopt;
  }
  free_at = start + time_of(bytes, rate);
  return free_at;
}

bool FlowShaper::make_room(Instant now) {
  if (free_at_.size() >= kMaxFlows) {
    std::erase_if(free_at_, [now](const auto& entry) { return entry.second <= now; });
  }
  return free_at_.size() < kMaxFlows;
}

}  // namespace tfabric::wire
