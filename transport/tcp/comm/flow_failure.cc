#include "transport/tcp/comm/flow_failure.h"

#include <fmt/format.h>

#include <chrono>

#include "transport/tcp/engine/link.h"
#include "transport/tcp/net/address.h"

namespace tfabric::tcp {
namespace {

constexpr const char* kAdvice =
    "`tfabric check --listen` on the peer's host prints the command that looks at the way between both";

std::string why_timed_out(const engine::Flow& flow, bool in_use, Instant now) {
  const std::uint64_t outstanding = flow.connection().stream_written() - flow.connection().stream_acked();
  return fmt::format(
      "timed out: the peer has not answered for {:.1f} s, with {} bytes outstanding (limit: {}). Its process "
      "may have been stopped, its host be down, or the network drop packets; {}",
      std::chrono::duration<double>(now - flow.connection().silent_since()).count(), outstanding,
      in_use ? "tcp.user_timeout_ms" : "tcp.connect_timeout_ms", kAdvice);
}

std::string why_unreachable(const engine::Flow& flow, Instant now) {
  const net::Interface& interface = flow.link().interface();
  const auto next = interface.next_hop(flow.key().remote);
  if (!next || !interface.is_silent(flow.key().remote, now)) {
    return stack::to_string(stack::ConnectionError::unreachable);
  }
  return fmt::format("the peer is unreachable: {} answers no {} on rail {}; {}", net::to_string(*next),
                     next->is_v4() ? "ARP" : "neighbour solicitation", interface.config().name, kAdvice);
}

}  // namespace

std::string why_failed(const engine::Flow& flow, stack::ConnectionError error, bool in_use, Instant now) {
  // A peer that closes its comm with requests outstanding resets the flows, as does one whose comm has
  // failed.
  if (const std::string& reason = flow.connection().reset_reason();
      error == stack::ConnectionError::reset && !reason.empty()) {
    return reason == kClosedEarly
               ? std::string("the peer closed its communicator while requests were outstanding")
               : fmt::format("the peer's communicator has failed: {}", reason);
  }
  const bool silent =
      error == stack::ConnectionError::timed_out || error == stack::ConnectionError::unreachable;
  if (!silent) {
    return stack::to_string(error);
  }
  // A peer cannot answer while our own link is away, so that is the reason then.
  if (std::string away = flow.link().why_away(now); !away.empty()) {
    return away;
  }
  return error == stack::ConnectionError::timed_out ? why_timed_out(flow, in_use, now)
                                                    : why_unreachable(flow, now);
}

}  // namespace tfabric::tcp
