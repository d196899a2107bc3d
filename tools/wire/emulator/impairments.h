// What one direction of the wire does to frames. The defaults do nothing.
//
// A frame passes, in this order: the link's state, the MTU, the rate of its flow, the queue (with ECN) and
// the rate of all, then, on its way, loss, corruption, duplication, delay with jitter, and reordering.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tfabric::wire {

enum class LinkState : std::uint8_t {
  up,
  down,    // all frames vanish, those on the way as well
  freeze,  // nothing leaves; what comes waits in the queue, and goes on when the link is up again
};

// What becomes of a frame larger than the MTU.
enum class TooBig : std::uint8_t {
  drop,  // a black hole
  icmp,  // dropped, and the sender is told (RFC 1191, RFC 8201) if it may be
};

struct Impairments {
  LinkState link = LinkState::up;
  std::uint32_t mtu = 0;  // bytes of the largest IP packet; 0: any
  TooBig too_big = TooBig::drop;

  std::uint64_t flow_rate = 0;           // bit/s of frames of one flow (5-tuple); 0: unlimited
  std::uint64_t rate = 0;                // bit/s of frames, without preamble and gap; 0: unlimited
  std::uint64_t queue_bytes = 1u << 20;  // that wait for the rate or a frozen link; a frame beyond is dropped
  std::uint64_t ecn_bytes = 0;           // frames are marked CE while more than that waits; 0: never

  // Shares of frames, 0 to 1. The two kinds of loss are the two states of the model of Gilbert and Elliott.
  double loss = 0;           // single frames
  double burst = 0;          // begin a burst
  double burst_length = 10;  // frames a burst lasts on average, lost or not; at least 1
  double burst_loss = 1;     // of the frames in a burst
  double corrupt = 0;        // bits are flipped; checksums tell
  double corrupt_valid = 0;  // bits of TCP's payload are flipped, and its checksum agrees with them
  double duplicate = 0;
  double reorder = 0;  // held back by reorder_delay while others pass

  Duration delay{};
  Duration jitter{};  // at most; added at random, without changing the order
  Duration reorder_delay = std::chrono::milliseconds(1);

  friend bool operator==(const Impairments&, const Impairments&) = default;
};

}  // namespace tfabric::wire
