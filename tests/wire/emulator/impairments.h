// What one direction of the wire does to frames, and what it has done.
//
// A frame passes, in this order: the link's state, the rate of its flow, the queue (with ECN) and the rate of
// the link, then, as it travels, loss, corruption, duplication, delay with jitter, and reordering.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tfabric::wire {

enum class LinkState : std::uint8_t {
  up,
  down,    // all frames are lost, including those in flight
  freeze,  // nothing leaves; frames that arrive wait in the queue until the link is up again
};

// The defaults do nothing.
struct Impairments {
  LinkState link = LinkState::up;

  std::uint64_t flow_rate = 0;           // bit/s of frames of one flow (5-tuple); 0: unlimited
  std::uint64_t rate = 0;                // bit/s of frames, without preamble and gap; 0: unlimited
  std::uint64_t queue_bytes = 1u << 20;  // limit of what waits for the rate or a frozen link
  std::uint64_t ecn_bytes = 0;           // frames are marked CE while more than this waits; 0: never

  // Shares of frames, 0 to 1. The two kinds of loss are the two states of the Gilbert model.
  double loss = 0;           // single frames
  double burst = 0;          // frames that begin a burst
  double burst_length = 10;  // average frames in a burst, which are all lost; at least 1
  double corrupt = 0;        // bits are flipped, and a checksum shows it
  double duplicate = 0;
  double reorder = 0;  // held back by reorder_delay while others pass

  Duration delay{};
  Duration jitter{};  // the maximum; added at random, without changing the order
  Duration reorder_delay = std::chrono::milliseconds(1);

  friend bool operator==(const Impairments&, const Impairments&) = default;
};

// Counts frames unless said otherwise.
//
// offered + duplicated == delivered + all_dropped() + queued + on_the_way, at any time.
struct Statistics {
  std::uint64_t offered = 0, offered_bytes = 0;
  std::uint64_t delivered = 0, delivered_bytes = 0;

  struct Dropped {
    std::uint64_t loss = 0;       // single losses
    std::uint64_t burst = 0;      // losses in bursts
    std::uint64_t flow = 0;       // the queue of the frame's flow was full
    std::uint64_t queue = 0;      // the queue was full
    std::uint64_t down = 0;       // the link was down
    std::uint64_t no_buffer = 0;  // no memory was free
  } dropped;

  std::uint64_t marked = 0;  // with ECN's CE
  std::uint64_t corrupted = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;

  // At present.
  std::uint64_t queued = 0, queued_bytes = 0;  // waiting for a rate, or for a frozen link
  std::uint64_t on_the_way = 0;

  [[nodiscard]] std::uint64_t all_dropped() const {
    return dropped.loss + dropped.burst + dropped.flow + dropped.queue + dropped.down + dropped.no_buffer;
  }
};

}  // namespace tfabric::wire
