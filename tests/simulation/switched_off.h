// Mechanisms of the machine that a test takes away, from outside: what it is told or asked is changed. Each
// shows that the property which rests on the mechanism is really checked.
#pragma once

#include <optional>
#include <string_view>

#include "transport/tcp/stack/connection.h"

namespace tfabric::simulation {

enum class Mechanism : std::uint8_t {
  none,
  checksum,          // damaged segments are taken
  sequence_numbers,  // each segment is taken for the next one
  timers,            // no deadline is ever served
  receive_window,    // announces 64 MB, however small the buffer
  backoff,           // the time-out is 200 µs, not measured and never doubled
  timeout_limit,     // the time-out doubles up to an hour
  sack,              // reports of what has arrived are not seen
  marks,             // congestion marks are not seen
};

[[nodiscard]] const char* to_string(Mechanism mechanism);
[[nodiscard]] std::optional<Mechanism> mechanism_named(std::string_view name);

// What the machine is given instead of `options`.
[[nodiscard]] stack::Options without(Mechanism off, stack::Options options);
// Changes what has come in; `info` is of the connection it is for.
void hide(Mechanism off, const stack::ConnectionInfo& info, stack::SegmentIn& segment);

}  // namespace tfabric::simulation
