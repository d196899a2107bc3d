#include "transport/tcp/comm/flow_failure.h"

#include <fmt/format.h>

#include <chrono>

#include "transport/tcp/engine/link.h"
#include "transport/tcp/net/address.h"

namespace tfabric::tcp {
namespace {

constexpr const char* kAdvice =
    "`tfabric check --listen` on the peer's host prints the command that looks at the way between both";

// "20.3 s", since the peer last acknowledged something or sent something in order; empty if it never has.
std::string since_progress(const engine::Flow& flow, Instant now) {
  const Instant last = flow.connection().progressed_at();
  return last == Instant{} ? std::string()
                           : fmt::format("{:.1f} s", std::chrono::duration<double>(now - last).count());
}

std::string why_timed_out(const engine::Flow& flow, Instant now) {
  const std::string since = since_progress(flow, now);
  const std::uint64_t outstanding = flow.connection().stream_written() - flow.connection().stream_acked();
  const std::string what =
      outstanding > 0 ? fmt::format("has acknowledged nothing of {} bytes", outstanding) : "has not answered";
  return fmt::format(
      "timed out: the peer {} for {} (limit: tcp.user_timeout_ms). Its process may have been stopped, its "
      "host be down, or the network drop packets; {}",
      what, since.empty() ? "too long" : since, kAdvice);
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
  if (error == stack::ConnectionError::reset && in_use) {
    return "the peer closed its communicator while requests were outstanding; its log says if an error was "
           "the reason";
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
  return error == stack::ConnectionError::timed_out &&
                 !flow.link().interface().is_silent(flow.key().remote, now)
             ? why_timed_out(flow, now)
             : why_unreachable(flow, now);
}

}  // namespace tfabric::tcp
