#include "transport/socket/small_paths.h"

#include <algorithm>

namespace tfabric::socket {
namespace {

// All that arrived was small: a hello, reports, small messages.
bool only_small_arrived(const LastView& last) {
  return last.acked > 0 && last.delivered > 0 && 2 * last.acked < std::uint64_t{last.delivered} * last.mss;
}

}  // namespace

std::optional<std::uint32_t> SmallPaths::on_end(const net::IpAddress& remote, const LastView& last,
                                                Instant now) {
  const bool large_lost = last.repeats && last.outstanding >= last.mss && last.mss > 0;
  if (!large_lost || !only_small_arrived(last)) {
    if (const auto known = paths_.find(remote); known != paths_.end() && last.acked >= last.mss) {
      known->second.ends = 0;
    }
    return std::nullopt;
  }
  Path& path = paths_[remote];
  const bool began_before = now < path.until && last.mss > path.segment;
  if (began_before || ++path.ends < kEnds) {
    return std::nullopt;
  }
  const auto* const smaller = std::ranges::find_if(kSegments, [&](std::uint32_t s) { return s < last.mss; });
  if (smaller == kSegments.end()) {
    return std::nullopt;
  }
  path = {.ends = 0, .segment = *smaller, .until = now + kMemory};
  return path.segment;
}

std::uint32_t SmallPaths::segment_to(const net::IpAddress& remote, Instant now) const {
  const auto known = paths_.find(remote);
  return known != paths_.end() && now < known->second.until ? known->second.segment : 0;
}

}  // namespace tfabric::socket
