// What a device tells by itself: a port that goes down or comes back, a table of GIDs that has changed, a
// device or a queue pair that has failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

struct AsyncEvent {
  ibv::EventType type = ibv::EventType::device_fatal;
  std::uint32_t port = 0;        // of an event of a port; 0: it is of something else
  const void* object = nullptr;  // the queue pair, completion queue … that it is of; only to be compared
};

// The next event, acknowledged; empty: there is none. Never blocks. One thread at a time for each device.
[[nodiscard]] std::optional<AsyncEvent> next_async_event(const Verbs& verbs, ibv::Context& context);

// Whether ports, and the GIDs that were chosen for them, are to be looked at again.
[[nodiscard]] bool changes_ports(ibv::EventType type);

// "port 1 is down".
[[nodiscard]] std::string to_string(const AsyncEvent& event);

}  // namespace tfabric::rdma
