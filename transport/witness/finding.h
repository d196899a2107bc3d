// What one process reports to another about a third one, which runs on the first one's host.
#pragma once

#include <cstdint>

namespace tfabric::witness {

// The values are those of the messages.
enum class Finding : std::uint8_t {
  unknown = 0,  // there is no connection to it; nothing is known
  absent = 1,   // there never was a connection, and the kernel refuses one: no process listens there
  alive = 2,    // there is a connection, and the process has answered, if it was asked
  stopped = 3,  // there is a connection, and a question is not answered
  ended = 4     // there was a connection, and the process has ended
};
inline constexpr auto kLastFinding = static_cast<std::uint8_t>(Finding::ended);

}  // namespace tfabric::witness
