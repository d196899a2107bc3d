#include <fmt/format.h>

#include <string>

#include "tools/check/peer/peer.h"
#include "transport/examine.h"

namespace tfabric::check {
namespace {

// More than the first time-out of full packets, less than the second, after 3 * kTrialRto. By then the peer
// has been silent for a second, so a connection is opened beside the first: its small packets pass, and full
// ones are given up.
constexpr auto kBlackHole = 2 * kTrialRto + kTrialRto / 2;

bool passes(const Outcome& outcome) { return outcome.stage == Stage::done; }

void judge_connecting(const std::string& subject, const OfferedRail& from, const OfferedRail& to,
                      const std::string& error, Findings& findings) {
  if (transport::says_unreachable(error)) {
    findings.error(
        Id::peer_neighbour_silent, subject,
        fmt::format("no host answers for {} (ARP or neighbour discovery), or for the gateway {}: {}",
                    to.addresses.empty() ? "the peer" : to.addresses.front(),
                    from.gateway.empty() ? "(none)" : from.gateway, error),
        fmt::format("are the rails {} and {} on one network (subnet, VLAN)? Is the address assigned to "
                    "the peer's interface in the cloud's network? Is `gateway` right?",
                    from.name, to.name));
    return;
  }
  findings.error(
      Id::peer_unreachable, subject, error,
      "let TCP pass both ways between the rails' addresses: security groups, network ACLs, firewalls; "
      "`tcp.port` and `tcp.local_ports` say which ports");
}

// `other`: of the opposite direction.
void judge_way(const OfferedRail& from, const OfferedRail& to, const Outcome& outcome, const Outcome& other,
               Findings& findings) {
  const std::string subject = fmt::format("{} -> {}", from.name, to.name);
  const std::uint32_t mtu = from.mtu == 0 || to.mtu == 0 ? 0 : std::min(from.mtu, to.mtu);
  const std::string fix = fmt::format(
      "find what passes and write it as the mtu of {} and {} (1500 does nearly everywhere), or let "
      "the network carry {}",
      from.name, to.name, mtu);
  switch (outcome.stage) {
    case Stage::connecting:
      judge_connecting(subject, from, to,
                       outcome.error + (passes(other) ? " (connections the other way pass)" : ""), findings);
      return;
    case Stage::small_message:
      findings.error(
          Id::peer_message_lost, subject,
          fmt::format("connects, and then a small message does not arrive: {}", outcome.error),
          "look for what sits between the hosts and breaks connections, such as a stateful firewall");
      return;
    case Stage::large_message:
      findings.error(
          Id::peer_message_lost, subject,
          fmt::format("small messages arrive, and full packets (MTU {}) do not: {}", mtu, outcome.error),
          fix);
      return;
    case Stage::done:
      break;
  }
  if (outcome.large > kBlackHole && outcome.large > 4 * outcome.small) {
    findings.warning(
        Id::peer_mtu_black_hole, subject,
        fmt::format("full packets (MTU {}) vanish without a word: the message arrived after {} ms, in "
                    "smaller ones",
                    mtu, outcome.large.count()),
        fix);
    return;
  }
  if (passes(other)) {
    findings.note(Id::peer_reached, subject,
                  fmt::format("a small message took {} ms, full packets {} ms", outcome.small.count(),
                              outcome.large.count()));
  }
}

}  // namespace

void judge_pair(const TriedPair& pair, Findings& findings) {
  judge_way(pair.ours, pair.theirs, pair.out, pair.back, findings);
  judge_way(pair.theirs, pair.ours, pair.back, pair.out, findings);
}

}  // namespace tfabric::check
