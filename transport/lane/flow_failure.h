// Why a flow has failed, in words for those who read the job's log.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "transport/engine/flow.h"
#include "transport/engine/turn.h"
#include "transport/lane/record.h"

namespace tfabric::lane {

// The reason that a RST gives if its sender closes a comm on which requests are outstanding. Any other reason
// is the error with which the sender's comm has failed.
inline constexpr const char* kClosedEarly = "closed with requests outstanding";

// What has become of a peer whose lanes have ended without a goodbye, and which opens no others. `who`: "rank
// 7, pid 4242 on gpu2"; empty if that is not known.
[[nodiscard]] std::string process_ended(std::string_view who = {});

// The most bytes of a reason that a goodbye carries.
inline constexpr std::size_t kMostReason = kMaxControlBytes;
// Returns why the peer's comm has ended, from the reason that its reset gave, or its goodbye; empty: the comm
// was closed in order.
[[nodiscard]] std::string why_over(std::string_view reason);

// Returns what has happened, for how long, how many bytes were outstanding, which key decides, and what to
// try next, as far as each applies. `in_use`: NCCL has the comm. Call it while the flow exists.
[[nodiscard]] std::string why_failed(const engine::Flow& flow, engine::ConnectionError error, bool in_use,
                                     Instant now) TF_IN_TURN;

}  // namespace tfabric::lane
