// The numbers that identify lanes, routes and messages on a comm, and the report of a request's end.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "transport/transport.h"

namespace tfabric::stripe {

// What a comm has got done since it was opened.
struct Traffic {
  std::uint64_t messages = 0, bytes = 0;  // done, in a group of receives each for itself
  std::uint64_t lines = 0;                // confirmed, or there; also of messages that are not done
};

// A lane of a comm. Both ends number the lanes by themselves; a number is used again once its lane is gone.
struct LaneId {
  std::size_t value = 0;
  friend constexpr auto operator<=>(const LaneId&, const LaneId&) = default;
};

// The name that both ends have for a lane. The sender counts its lanes from 1; no serial is used twice.
struct LaneSerial {
  std::uint32_t value = 0;
  friend constexpr bool operator==(const LaneSerial&, const LaneSerial&) = default;
};

// A route of a comm: one of our rails with one of the peer's. Only the sender numbers them.
struct RouteId {
  std::size_t value = 0;
  friend constexpr auto operator<=>(const RouteId&, const RouteId&) = default;
};

// A group of receives that were posted together, numbered from 0 in posting order. The numbers wrap.
struct GroupId {
  std::uint32_t value = 0;
  friend constexpr bool operator==(const GroupId&, const GroupId&) = default;

  // Serial-number comparison: correct for groups that are less than 2^31 apart.
  [[nodiscard]] constexpr bool precedes(GroupId other) const {
    return static_cast<std::int32_t>(value - other.value) < 0;
  }
  [[nodiscard]] constexpr GroupId next() const { return {value + 1}; }
};

// A receive within its group.
struct ReceiveIndex {
  std::uint8_t value = 0;
  friend constexpr bool operator==(const ReceiveIndex&, const ReceiveIndex&) = default;
};

// A message is counted in lines: each piece of it begins at a multiple of kLineBytes, the line of NCCL's
// LL128 protocol, and a line is there when its last byte, or the message's, is. A message of no bytes has one
// line, so that it can be counted too.
inline constexpr std::uint32_t kLineBytes = 128;
[[nodiscard]] constexpr std::uint32_t lines_of(std::uint32_t bytes) {
  return std::max(1u, (bytes + (kLineBytes - 1)) / kLineBytes);
}

// What a sender may send before it knows that the receive is posted: a message of at most kMaxEagerBytes, for
// one of the kEagerWindow receives after the last that it knows of. Larger messages wait, so that no lane is
// ever blocked by a message that has no place to go.
inline constexpr std::uint32_t kMaxEagerBytes = 16u << 10;
inline constexpr std::uint32_t kEagerWindow = 32;

// How the turning side reports the end of a request to the thread of NCCL that posted it.
//
// NCCL's thread fills it and queues the request; from then on it only reads `state`. The other side writes
// `sizes` and then, once, `state`: when `state` is no longer `pending`, the object belongs to NCCL's thread
// again.
struct Completion {
  enum class State : std::uint8_t { pending, done, failed };

  std::atomic<State> state{State::pending};
  std::uint8_t count = 1;
  std::array<std::uint32_t, transport::kMaxGroupedReceives> sizes{};

  void finish(State outcome) { state.store(outcome, std::memory_order_release); }
};

}  // namespace tfabric::stripe
