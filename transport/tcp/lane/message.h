// The numbers that identify flows, routes and messages on a comm, and the report of a request's end.
#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "transport/transport.h"

namespace tfabric::lane {

// A flow of a comm. Both ends number the flows by themselves; a number is used again once its flow is gone.
struct FlowId {
  std::size_t value = 0;
  friend constexpr auto operator<=>(const FlowId&, const FlowId&) = default;
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

// How the engine reports the end of a request to the thread of NCCL that posted it.
//
// NCCL's thread fills it and queues the request; from then on it only reads `state`. The engine writes
// `sizes` and then, once, `state`: when `state` is no longer `pending`, the object belongs to NCCL's thread
// again.
struct Completion {
  enum class State : std::uint8_t { pending, done, failed };

  std::atomic<State> state{State::pending};
  std::uint8_t count = 1;
  std::array<std::uint32_t, transport::kMaxGroupedReceives> sizes{};

  void finish(State outcome) { state.store(outcome, std::memory_order_release); }
};

}  // namespace tfabric::lane
