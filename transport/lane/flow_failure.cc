#include "transport/lane/flow_failure.h"

#include <fmt/format.h>

#include <chrono>

#include "base/printable.h"

namespace tfabric::lane {
namespace {

constexpr const char* kAdvice =
    "`tfabric check --listen` on the peer's host prints the command that looks at the way between both";

std::string why_timed_out(const engine::Flow& flow, bool in_use, Instant now) TF_IN_TURN {
  const std::uint64_t outstanding = flow.stream().stream_written() - flow.stream().stream_acked();
  return fmt::format(
      "timed out: the peer has not answered for {:.1f} s, with {} bytes outstanding (limit: {}). Its process "
      "may have been stopped, its host be down, or the network drop packets; {}",
      std::chrono::duration<double>(now - flow.stream().silent_since()).count(), outstanding,
      in_use ? "tcp.user_timeout_ms" : "tcp.connect_timeout_ms", kAdvice);
}

std::string why_unreachable(const engine::Flow& flow, Instant now) TF_IN_TURN {
  const std::string why = flow.why_unreachable(now);
  return why.empty() ? std::string(engine::to_string(engine::ConnectionError::unreachable))
                     : fmt::format("the peer is unreachable: {}; {}", why, kAdvice);
}

}  // namespace

std::string process_ended(std::string_view who) {
  return fmt::format("the peer's process{}{}{} has ended without closing its communicators",
                     who.empty() ? "" : " (", who, who.empty() ? "" : ")");
}

std::string why_over(std::string_view reason) {
  if (reason.empty()) {
    return "the peer closed its communicator";
  }
  if (reason == kClosedEarly) {
    return "the peer closed its communicator while requests were outstanding";
  }
  return "the peer's communicator has failed: " + printable(reason);
}

std::string why_failed(const engine::Flow& flow, engine::ConnectionError error, bool in_use, Instant now) {
  // A peer that closes its comm with requests outstanding resets the flows, as does one whose comm has
  // failed.
  if (const std::string& reason = flow.stream().reset_reason();
      error == engine::ConnectionError::reset && !reason.empty()) {
    return why_over(reason);
  }
  const bool silent =
      error == engine::ConnectionError::timed_out || error == engine::ConnectionError::unreachable;
  if (!silent) {
    return engine::to_string(error);
  }
  // A peer cannot answer while our own link is away, so that is the reason then.
  if (std::string away = flow.carrier().why_away(now); !away.empty()) {
    return away;
  }
  return error == engine::ConnectionError::timed_out ? why_timed_out(flow, in_use, now)
                                                     : why_unreachable(flow, now);
}

}  // namespace tfabric::lane
