// Switches mechanisms of the machine off from outside, by changing its options and its input. Each one shows
// that the property that depends on the mechanism is really checked.
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

// The options that the machine gets instead of `options`.
[[nodiscard]] stack::Options without(Mechanism off, stack::Options options);
// Changes a segment that has arrived; `info` is that of its connection.
void hide(Mechanism off, const stack::ConnectionInfo& info, stack::SegmentIn& segment);

}  // namespace tfabric::simulation
