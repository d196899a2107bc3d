// What the engine's side of a comm tells the side that NCCL calls about one request.
//
// The comm's user fills it, hands it over with the request and then only reads `state`; the engine writes
// `sizes` and then `state`, once. `state` leaving `pending` is the hand-over back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "transport/transport.h"

namespace tfabric::lane {

struct Completion {
  enum class State : std::uint8_t { pending, done, failed };

  std::atomic<State> state{State::pending};
  std::uint8_t count = 1;
  std::array<std::uint32_t, transport::kMaxGroupedReceives> sizes{};

  void finish(State outcome) { state.store(outcome, std::memory_order_release); }
};

}  // namespace tfabric::lane
