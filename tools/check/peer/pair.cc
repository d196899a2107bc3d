#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "config/config.h"
#include "tools/check/peer/peer.h"
#include "tools/check/peer/way.h"
#include "tools/control/listener.h"
#include "tools/output.h"
#include "transport/registry.h"

namespace tfabric::check {
namespace {

constexpr auto kMeeting = std::chrono::seconds(15);
constexpr auto kPatience = std::chrono::seconds(60);

// A trial uses each rail by itself, over one connection, with slow retransmissions (kTrialRto). The transport
// must not probe the rails when it opens: what would make it unusable is a finding here. This process has
// all rails, whatever share of them a rank has: a rail of another rank would be tried over one of its own.
void prepare(config::Config& config) {
  config.tcp.rails_per_process = {.rule = config::RailsPerProcess::Rule::all, .count = 0};
  // What is enough for a rank's share may be too little for all rails: this trial takes ordinary memory then.
  config.memory.budget_mib = 0;
  if (config.memory.hugepages == config::HugepageMode::required) {
    config.memory.hugepages = config::HugepageMode::automatic;
  }
  config.tcp.probe = false;
  config.tcp.bond = config::Switch::off;
  config.tcp.flows = 1;
  config.tcp.engines = 1;
  config.tcp.min_rto = kTrialRto;
}

Status try_rails(control::Channel& control, const transport::Transport& transport, const Offer& mine,
                 const Offer& theirs, bool first, Findings& findings) {
  const auto devices = transport.devices();
  for (std::size_t i = 0; i < std::min({devices.size(), mine.rails.size(), theirs.rails.size()}); ++i) {
    for (const bool sends : {first, !first}) {
      const Result<Outcome> outcome =
          sends ? try_sending(control, *devices[i]) : try_receiving(control, *devices[i]);
      if (!outcome) {
        return outcome.error();
      }
      judge_outcome((sends ? mine : theirs).rails[i], (sends ? theirs : mine).rails[i], *outcome, findings);
    }
  }
  return {};
}

// What this host does in the exchange.
struct Role {
  bool sends_first;
  bool probes;  // tries its own rails' networks, as a job here would
};

Id id_of(transport::RailFault::Kind kind) {
  switch (kind) {
    case transport::RailFault::Kind::missing:
      return Id::interface_missing;
    case transport::RailFault::Kind::no_link:
      return Id::link_down;
    case transport::RailFault::Kind::address_taken:
      return Id::address_taken;
    case transport::RailFault::Kind::gateway_silent:
      break;
  }
  return Id::gateway_silent;
}

// Returns false if a job would not use tfabric here; then nothing more is tried.
bool probe(transport::Transport& transport, Findings& findings) {
  const std::vector<transport::RailFault> faults = transport.probe();
  for (const transport::RailFault& fault : faults) {
    findings.error(id_of(fault.kind), "rail " + fault.rail, fault.what, fault.fix);
  }
  return faults.empty();
}

Status exchange(control::Channel& control, const config::Config& config, transport::Transport& transport,
                Role role, Findings& findings) {
  const Offer mine = make_offer(config, transport);
  if (Status sent = control.send(to_json(mine)); !sent) {
    return sent;
  }
  const auto message = control.receive(kPatience, "its rails");
  if (!message) {
    return message.error();
  }
  Result<Offer> theirs = offer_from(*message);
  if (!theirs) {
    return theirs.error();
  }
  for (OfferedRail& rail : theirs->rails) {
    rail.name = "the peer's " + rail.name;
  }
  if (!compare_offers(mine, *theirs, findings)) {
    return {};
  }
  // After the comparison: a rail of the peer's with one of our addresses would answer the probe for that
  // address.
  if (role.probes && !probe(transport, findings)) {
    control.send_failure(
        {Errc::unusable, "a rail's network does not answer there: `tfabric check` there says how"});
    return {};
  }
  return try_rails(control, transport, mine, *theirs, role.sends_first, findings);
}

bool has_taken_rail(const Report& report) {
  const auto& all = report.findings.all();
  return std::any_of(all.begin(), all.end(),
                     [](const Finding& finding) { return finding.id == Id::rail_leased; });
}

Status run(control::Channel& control, const Host& host, bool first, Report& report) {
  if (exit_code_of(report) != kNotUsable && has_taken_rail(report)) {
    control.send_failure(
        {Errc::unusable, "other processes have rails there: `tfabric check` there names them"});
    return Error{Errc::unusable, "the rails were not tried, since other processes have some of them"};
  }
  if (exit_code_of(report) == kNotUsable) {
    const Error error{Errc::unusable, "tfabric is not usable there: `tfabric check` at that host says why"};
    control.send_failure(error);
    return Error{Errc::unusable, "the rails were not tried, since tfabric is not usable here"};
  }
  Result<config::Config> config = load_config(host);
  if (!config) {
    return config.error();
  }
  if (Status way = check_way_of(control.fd(), host, *config); !way) {
    control.send_failure(way.error());
    return way;
  }
  const Role role{.sends_first = first, .probes = config->tcp.probe};
  prepare(*config);
  leave_one_subset(config->tcp, report.findings);
  const auto transport = transport::open(*config);
  if (!transport) {
    report.findings.error(
        Id::transport_not_open, "network", transport.error().message,
        "the message says how; if nothing else here explains it, `tfabric info` shows more");
    control.send_failure(transport.error());
  }
  Status done = transport ? exchange(control, *config, **transport, role, report.findings) : Status();
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
