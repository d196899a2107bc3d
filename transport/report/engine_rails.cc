// The rails of an engine, as the page shows them.
#include <algorithm>
#include <string>

#include "transport/report/engine_report.h"
#include "transport/report/flow_account.h"

namespace tfabric::report {
namespace {

// What a rail carries in that time when it only asks whether peers are there.
constexpr std::uint64_t kTrickle = 64 << 10;

void show(const flows::RailDuty& duty, Instant now, observe::RailFacts& facts) {
  if (duty.stands_in.present(now)) {
    observe::put(facts.stands_in, duty.role);
    facts.stands_in_since = in_nanoseconds(duty.stands_in.since());
  }
  facts.stood_in_at = duty.stands_in.seen_at() ? in_nanoseconds(*duty.stands_in.seen_at()) : 0;
  facts.missed_since = duty.missed.present(now) ? in_nanoseconds(duty.missed.since()) : 0;
}

}  // namespace

void EngineReport::on_carrier_gone(const engine::Carrier& carrier) {
  for (RailAccount& rail : rails_) {
    if (rail.rail.name == carrier.name()) {
      rail.gone += carrier.counters();
    }
  }
}

template <class Use>
void EngineReport::for_each_carrier(const RailAccount& account, const Use& use) const {
  engine_->for_each_carrier([&](const engine::Carrier& carrier) TF_IN_TURN {
    if (carrier.name() == account.rail.name) {
      use(carrier);
    }
  });
}

engine::CarrierCounters EngineReport::counters_of(const RailAccount& account) const {
  engine::CarrierCounters sums = account.gone;
  bool unseen = false;
  for_each_carrier(account, [&](const engine::Carrier& carrier) TF_IN_TURN {
    sums += carrier.counters();
    unseen |= !carrier.traits().shows_packets;
  });
  if (!unseen) {
    return sums;
  }
  // The kernel counts the frames; what it has of ours is payload.
  for (const auto& [where, path] : paths_) {
    if (where.first == account.rail.name) {
      sums.tx_bytes += path.facts.sent_bytes;
      sums.tx_payload += path.facts.sent_bytes;
      sums.rx_bytes += path.facts.received_bytes;
    }
  }
  return sums;
}

std::string EngineReport::fault_of(const RailAccount& account) const {
  const Instant now = engine_->last_turn();
  const engine::Rehearsal* rehearsal = account.rail.rehearsal.get();
  std::string text = rehearsal == nullptr ? std::string() : rehearsal->present(now);
  if (engine_->rehearsal() != nullptr) {
    const std::string of_process = engine_->rehearsal()->present(now);
    text += (text.empty() || of_process.empty() ? "" : ", ") + of_process;
  }
  return text;
}

// Of lanes that have no flows. Several devices of the engine may have the port.
void EngineReport::take_peers(const RailAccount& account) {
  std::map<net::IpAddress, engine::PeerTraffic> sums;
  for_each_carrier(account, [&](const engine::Carrier& carrier) TF_IN_TURN {
    for (const engine::PeerTraffic& peer : carrier.peers()) {
      engine::PeerTraffic& sum = sums[peer.remote];
      sum.lanes += peer.lanes;
      sum.sent_bytes += peer.sent_bytes;
      sum.received_bytes += peer.received_bytes;
    }
  });
  for (const auto& [remote, sum] : sums) {
    PathAccount& path = path_to(account.rail.name, remote);
    path.facts.flows = sum.lanes;
    path.facts.sent_bytes = path.facts.acked_bytes = sum.sent_bytes;
    path.facts.received_bytes = sum.received_bytes;
    page_->publish(path.slot, path.id, path.facts);
  }
}

observe::RailFacts EngineReport::facts_of(std::string_view rail) {
  const auto account = std::find_if(rails_.begin(), rails_.end(),
                                    [&](const RailAccount& one) { return one.rail.name == rail; });
  if (account == rails_.end()) {
    return {};
  }
  take_peers(*account);
  return facts_of(*account);
}

void EngineReport::publish_rail(RailAccount& account, Instant now) {
  take_peers(account);
  observe::RailFacts facts = facts_of(account);
  const flows::RailDuty duty = book_->duty_of(account.rail.name);
  account.stood_in_ns += duty.stands_in.present(now) ? in_nanoseconds(kRailInterval) : 0;
  account.missed_ns += duty.missed.present(now) ? in_nanoseconds(kRailInterval) : 0;
  show(duty, now, facts);
  facts.stood_in_ns = account.stood_in_ns;
  facts.missed_ns = account.missed_ns;
  const std::uint64_t carried = facts.sent_bytes + facts.received_bytes;
  if (carried >= account.carried + kTrickle) {
    facts.busy_ns = account.busy_ns += in_nanoseconds(kRailInterval);
  }
  account.carried = carried;
  page_->publish(account.slot, account.id, facts);
}

observe::RailFacts EngineReport::facts_of(const RailAccount& account) const {
  const ShownRail& rail = account.rail;
  const engine::CarrierCounters sums = counters_of(account);
  const flows::RailLosses losses = book_->losses_of(rail.name);
  observe::RailFacts facts;
  observe::put(facts.name, rail.name);
  observe::put(facts.kind, rail.kind);
  observe::put(facts.device, rail.device);
  observe::put(facts.address, rail.address);
  facts.engine = facts_.number;
  facts.mtu = rail.mtu;
  facts.up = rail.absent ? 0 : 1;
  for_each_carrier(account, [&](const engine::Carrier& carrier) TF_IN_TURN {
    facts.up = carrier.is_away() ? 0 : facts.up;
    facts.absences = std::max(facts.absences, carrier.absences());
  });
  facts.sent_bytes = sums.tx_bytes;
  facts.received_bytes = sums.rx_bytes;
  facts.sent_packets = sums.tx_packets;
  facts.received_packets = sums.rx_packets;
  facts.payload_bytes = sums.tx_payload;
  facts.repeated_bytes = sums.tx_repeated;
  facts.transmit_stalls = sums.tx_stalls;
  facts.lost_connections = losses.connections;
  facts.dealt_again_bytes = losses.bytes;
  facts.busy_ns = account.busy_ns;
  observe::put(facts.fault, fault_of(account));
  return facts;
}

}  // namespace tfabric::report
