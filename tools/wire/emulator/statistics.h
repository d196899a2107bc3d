// What one direction of the wire has done, in frames unless said otherwise.
//
// offered + duplicated == delivered + all_dropped() + queued + on_the_way, at any time.
#pragma once

#include <cstdint>

namespace tfabric::wire {

struct Statistics {
  std::uint64_t offered = 0, offered_bytes = 0;
  std::uint64_t delivered = 0, delivered_bytes = 0;

  struct Dropped {
    std::uint64_t loss = 0;       // of single frames
    std::uint64_t burst = 0;      // in bursts
    std::uint64_t flow = 0;       // too many of its flow waited for the flow's rate
    std::uint64_t queue = 0;      // the queue was full
    std::uint64_t mtu = 0;        // larger than the MTU
    std::uint64_t down = 0;       // the link was down
    std::uint64_t no_buffer = 0;  // memory had run out
  } dropped;

  std::uint64_t marked = 0;     // with ECN's CE
  std::uint64_t corrupted = 0;  // checksums tell
  std::uint64_t corrupted_valid = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t icmp = 0;  // answers that a packet was too big

  // At present.
  std::uint64_t queued = 0, queued_bytes = 0;  // waiting for the rate, or for a frozen link
  std::uint64_t on_the_way = 0;

  [[nodiscard]] std::uint64_t all_dropped() const {
    return dropped.loss + dropped.burst + dropped.flow + dropped.queue + dropped.mtu + dropped.down +
           dropped.no_buffer;
  }
};

}  // namespace tfabric::wire
