// Why a flow has failed, in words for those who read the job's log.
#pragma once

#include <string>

#include "base/time.h"
#include "transport/tcp/engine/flow.h"

namespace tfabric::tcp {

// The reason that a RST gives if its sender closes a comm on which requests are outstanding. Any other reason
// is the error with which the sender's comm has failed.
inline constexpr const char* kClosedEarly = "closed with requests outstanding";

// Returns what has happened, for how long, how many bytes were outstanding, which key decides, and what to
// try next, as far as each applies. `in_use`: NCCL has the comm. Call it with the engine held, while the flow
// exists.
[[nodiscard]] std::string why_failed(const engine::Flow& flow, stack::ConnectionError error, bool in_use,
                                     Instant now);

}  // namespace tfabric::tcp
