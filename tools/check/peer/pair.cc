#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "tools/check/peer/peer.h"
#include "tools/check/peer/rails.h"
#include "tools/check/peer/way.h"
#include "tools/control/listener.h"
#include "tools/output.h"

namespace tfabric::check {
namespace {

constexpr auto kMeeting = std::chrono::seconds(15);
constexpr auto kPatience = std::chrono::seconds(60);

// What this host does in the exchange.
struct Role {
  bool sends_first;
  bool probes;  // tries its own rails' networks, as a job here would
};

Result<Offer> exchange_offers(control::Channel& control, const Offer& mine) {
  if (Status sent = control.send(to_json(mine)); !sent) {
    return sent.error();
  }
  const auto message = control.receive(kPatience, "its rails");
  if (!message) {
    return message.error();
  }
  Result<Offer> theirs = offer_from(*message);
  for (std::size_t i = 0; theirs && i < theirs->rails.size(); ++i) {
    theirs->rails[i].name = "the peer's " + theirs->rails[i].name;
  }
  return theirs;
}

Result<std::vector<LeftOut>> exchange_left_out(control::Channel& control, const std::vector<LeftOut>& mine) {
  if (Status sent = control.send(to_json(mine)); !sent) {
    return sent.error();
  }
  const auto message = control.receive(kPatience, "which rails it does not try");
  return message ? left_out_from(*message) : message.error();
}

const LeftOut* find(const std::vector<LeftOut>& rails, std::size_t rail) {
  const auto found =
      std::find_if(rails.begin(), rails.end(), [&](const LeftOut& each) { return each.rail == rail; });
  return found == rails.end() ? nullptr : &*found;
}

Status try_pair(control::Channel& control, transport::Device& device, const OfferedRail& ours,
                const OfferedRail& theirs, bool first, Findings& findings) {
  TriedPair pair{.ours = ours, .theirs = theirs, .out = {}, .back = {}};
  for (const bool sends : {first, !first}) {
    Result<Outcome> outcome = sends ? try_sending(control, device) : try_receiving(control, device);
    if (!outcome) {
      return outcome.error();
    }
    (sends ? pair.out : pair.back) = std::move(*outcome);
  }
  judge_pair(pair, findings);
  return {};
}

// Both hosts leave out the same pairs: those of which either has said so, and those that know no way.
Status try_rails(control::Channel& control, const TrialRails& rails, const Offer& mine, const Offer& theirs,
                 bool first, Findings& findings) {
  const auto left_out = exchange_left_out(control, rails.left_out);
  if (!left_out) {
    return left_out.error();
  }
  // Both go through the pairs in the first one's order, whatever they think of the lengths of prefixes.
  for (auto [ours, others] : first ? pairs_of(mine, theirs) : pairs_of(theirs, mine)) {
    if (!first) {
      std::swap(ours, others);
    }
    const OfferedRail &own = mine.rails[ours], &other = theirs.rails[others];
    transport::Device* device = rails.devices[ours];
    if (const LeftOut* why = find(*left_out, others); why != nullptr) {
      findings.error(Id::peer_not_tried, fmt::format("{} - {}", own.name, other.name),
                     fmt::format("were not tried, because of {}: {}", other.name, why->what),
                     why->fix + " (at the peer)");
    } else if (device != nullptr && knows_way(own, other) && knows_way(other, own)) {
      if (Status tried = try_pair(control, *device, own, other, first, findings); !tried) {
        return tried;
      }
    }
  }
  return {};
}

Status exchange(control::Channel& control, const config::Config& config, TrialRails& rails, Role role,
                Findings& findings) {
  const Offer mine = make_offer(config, *rails.transport);
  const Result<Offer> theirs = exchange_offers(control, mine);
  if (!theirs) {
    return theirs.error();
  }
  if (!compare_offers(mine, *theirs, findings)) {
    return {};
  }
  // After the comparison: a rail of the peer's with one of our addresses would answer the probe for that
  // address.
  if (role.probes) {
    probe_rails(config, rails, findings);
  }
  return try_rails(control, rails, mine, *theirs, role.sends_first, findings);
}

bool has_taken_rail(const Report& report) {
  const auto& all = report.findings.all();
  return std::any_of(all.begin(), all.end(),
                     [](const Finding& finding) { return finding.id == Id::rail_leased; });
}

// Says why nothing can be tried, at both hosts.
Error refuse(control::Channel& control, const char* here, const char* there) {
  control.send_failure({Errc::unusable, there});
  return {Errc::unusable, here};
}

Status run(control::Channel& control, const Host& host, bool first, Report& report) {
  Result<config::Config> config = load_config(host);
  if (exit_code_of(report) == kNotUsable && (!config || !only_rails_are_faulty(*config, report.findings))) {
    return refuse(control, "the rails were not tried, since tfabric is not usable here",
                  "tfabric is not usable there: `tfabric check` at that host says why");
  }
  if (has_taken_rail(report)) {
    return refuse(control, "the rails were not tried, since other processes have some of them",
                  "other processes have rails there: `tfabric check` there names them");
  }
  if (!config) {
    return config.error();
  }
  if (Status way = check_way_of(control.fd(), host, *config); !way) {
    control.send_failure(way.error());
    return way;
  }
  const Role role{.sends_first = first, .probes = config->tcp.probe};
  leave_one_subset(config->tcp, report.findings);
  auto rails = open_trial_rails(*config, report.findings);
  if (!rails) {
    control.send_failure(rails.error());
  }
  Status done = rails ? exchange(control, *config, *rails, role, report.findings) : Status();
  if (!done) {
    control.send_failure(done.error());
  }
  report.verdict = judge(host, load_config(host), report.findings);
  return done;
}

// Listens for one peer only: the socket is closed when it has come.
Result<control::Channel> meet_peer(std::uint16_t port, const control::Invitation& invitation) {
  auto listener = control::Listener::open(port, invitation, [](const std::string& line) {
    tools::print_err(fmt::format("tfabric check: {}\n", line));
  });
  if (!listener) {
    return listener.error();
  }
  tools::print_err(control::announcement("the other host", "tfabric check --peer " + control::host_name(),
                                         invitation, port, kPairPort));
  return listener->accept("the peer");
}

}  // namespace

Status listen_for_peer(std::uint16_t port, const control::Invitation& invitation, const Host& host,
                       Report& report) {
  auto control = meet_peer(port, invitation);
  if (!control) {
    return control.error();
  }
  return run(*control, host, /*first=*/false, report);
}

Status try_peer(const control::Destination& peer, const Host& host, Report& report) {
  if (Status way = check_way_to(peer.host, host); !way) {
    return way;
  }
  auto control = control::connect(peer, kMeeting, "the peer",
                                  [](const std::string& line) { tools::print_err(line + "\n"); });
  if (!control) {
    return control.error();
  }
  return run(*control, host, /*first=*/true, report);
}

}  // namespace tfabric::check
