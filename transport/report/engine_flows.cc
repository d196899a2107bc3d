// The flows of an engine, as the page shows them, and what is kept of their packets.
#include <algorithm>
#include <chrono>
#include <utility>

#include "transport/report/engine_report.h"
#include "transport/report/flow_account.h"

namespace tfabric::report {
namespace {

// As for comms; a flow of a kernel's costs a system call.
constexpr std::size_t kFlowsAtATime = 4, kCostOfKernelFlow = 4;
// What is worth a keepsake, once it is over: time-outs in a row, and a peer without room.
constexpr std::uint32_t kTimeouts = 3;
constexpr Duration kClosed = std::chrono::seconds(1);

// Returns how much has come, and remembers it. Counters of the kernel may be read at different moments.
std::uint64_t news(std::uint64_t now, std::uint64_t& before) {
  const std::uint64_t more = now > before ? now - before : 0;
  before = std::max(now, before);
  return more;
}

void take_gauges(const engine::ConnectionInfo& info, const engine::ByteStream& stream,
                 observe::FlowFacts& facts) TF_IN_TURN {
  observe::put(facts.state, engine::to_string(info.state));
  facts.rtt_ns = in_nanoseconds(info.srtt);
  facts.rttvar_ns = in_nanoseconds(info.rttvar);
  facts.min_rtt_ns = in_nanoseconds(info.min_rtt);
  facts.rto_ns = in_nanoseconds(info.rto);
  facts.cwnd = info.cwnd;
  facts.ssthresh = info.ssthresh;
  facts.flight = info.flight;
  facts.snd_wnd = info.snd_wnd;
  facts.rcv_wnd = info.rcv_wnd;
  facts.mss = info.mss;
  const std::uint64_t left = stream.stream_written() - stream.stream_acked();
  facts.unsent = left > info.flight ? left - info.flight : 0;
  facts.tail_probes = info.tail_probes;
  facts.progressed_at = in_nanoseconds(stream.progressed_at());
}

}  // namespace

void EngineReport::FlowAccount::take(const engine::ConnectionInfo& info, const engine::ByteStream& stream) {
  observe::PathFacts& sums = path->facts;
  // The connection's own numbers have the FIN in them, which is no byte of the stream.
  const std::uint64_t written = stream.stream_written();
  sums.sent_bytes += news(std::min(info.bytes_sent, written), facts.sent_bytes);
  sums.acked_bytes += news(std::min(info.bytes_acked, written), facts.acked_bytes);
  sums.received_bytes += news(info.bytes_received, facts.received_bytes);
  sums.retransmitted_bytes += news(info.bytes_retransmitted, facts.retransmitted_bytes);
  sums.timeouts += news(info.timeouts, facts.timeouts);
  sums.fast_recoveries += news(info.fast_retransmits, facts.fast_recoveries);
  sums.needless_recoveries += news(info.undone, facts.needless_recoveries);
  sums.busy_ns += news(in_nanoseconds(info.busy), facts.busy_ns);
  sums.peer_window_limited_ns += news(in_nanoseconds(info.peer_window_limited), facts.peer_window_limited_ns);
  sums.network_limited_ns += news(in_nanoseconds(info.network_limited), facts.network_limited_ns);
  take_gauges(info, stream, facts);
  if (info.srtt > Duration{}) {
    sums.rtt_ns = in_nanoseconds(info.srtt);
  }
  if (info.min_rtt > Duration{} && (sums.min_rtt_ns == 0 || in_nanoseconds(info.min_rtt) < sums.min_rtt_ns)) {
    sums.min_rtt_ns = in_nanoseconds(info.min_rtt);
  }
}

engine::Flow* EngineReport::flow_at(std::size_t place) const {
  for (const auto& polled : engine_->polled()) {
    if (place < polled->flows()) {
      return &polled->flow_at(place);
    }
    place -= polled->flows();
  }
  return nullptr;
}

void EngineReport::look_at_flows(Instant now) {
  const std::size_t all = engine_->flows();
  facts_.flows = all;
  flow_round_.begin(all, now);
  for (std::size_t cost = 0; cost < kFlowsAtATime && flow_round_.left > 0 && all > 0;) {
    --flow_round_.left;
    next_flow_ = next_flow_ + 1 < all ? next_flow_ + 1 : 0;
    engine::Flow* flow = flow_at(next_flow_);
    if (flow == nullptr) {
      return;
    }
    const bool shows_packets = flow->carrier().traits().shows_packets;
    cost += shows_packets ? 1 : kCostOfKernelFlow;
    look_at(*flow, shows_packets);
  }
}

EngineReport::PathAccount& EngineReport::path_to(const std::string& rail, const net::IpAddress& peer) {
  const auto [found, made] = paths_.try_emplace({rail, peer});
  PathAccount& path = found->second;
  if (made) {
    path.id = page_->new_id();
    path.slot = page_->take(observe::Table::path);
    path.facts.engine = facts_.number;
    observe::put(path.facts.rail, rail);
    observe::put(path.facts.peer, net::to_string(peer));
  }
  return path;
}

EngineReport::FlowAccount& EngineReport::account_of(engine::Flow& flow, bool records) {
  if (flow.account() == nullptr) {
    auto account = std::make_unique<FlowAccount>(*this);
    account->id = page_->new_id();
    account->slot = page_->take(observe::Table::flow);
    const std::string& rail = flow.carrier().name();
    PathAccount& path = path_to(rail, flow.remote());
    ++path.facts.flows;
    account->path = &path;
    const std::string ends = flow.describe();
    const std::size_t middle = ends.find(" - ");
    observe::put(account->facts.rail, rail);
    observe::put(account->facts.local, ends.substr(0, middle));
    observe::put(account->facts.peer, middle == std::string::npos ? std::string() : ends.substr(middle + 3));
    if (records) {
      flow.set_recorder(page_->take_ring(account->id, account->ring_slot));
    }
    flow.set_account(std::move(account));
  }
  return static_cast<FlowAccount&>(*flow.account());
}

void EngineReport::look_at(engine::Flow& flow, bool shows_packets) {
  const engine::ConnectionInfo info = flow.stream().info();
  if (flow.account() == nullptr && info.state < engine::State::established) {
    return;  // it may take another port, or never be one
  }
  FlowAccount& account = account_of(flow, shows_packets);
  account.take(info, flow.stream());
  account.facts.comm = flow.handler() == nullptr ? 0 : flow.handler()->shown_id();
  look_for_trouble(flow, account, engine_->last_turn());
  page_->publish(account.slot, account.id, account.facts);
  page_->publish(account.path->slot, account.path->id, account.path->facts);
}

// When it is over, the ring begins to lose what led to it.
void EngineReport::look_for_trouble(const engine::Flow& flow, FlowAccount& account, Instant now) {
  const std::uint32_t timeouts = flow.stream().timeouts_in_row();
  if (timeouts == 0 && std::exchange(account.timed_out, false)) {
    keep(account, "it went on after time-outs in a row");
  }
  account.timed_out = account.timed_out || timeouts >= kTimeouts;
  if (account.facts.snd_wnd == 0) {
    account.closed_since = account.closed_since == Instant{} ? now : account.closed_since;
  } else if (const Instant since = std::exchange(account.closed_since, Instant{});
             since != Instant{} && now - since > kClosed) {
    keep(account, "it went on after the peer had no room for more than a second");
  }
}

void EngineReport::FlowAccount::keep(std::string_view why) { report_->keep(*this, why); }

void EngineReport::keep(const FlowAccount& account, std::string_view why) {
  observe::KeepsakeFacts facts;
  facts.flow = account.id;
  facts.comm = account.facts.comm;
  facts.kept_at = in_nanoseconds(engine_->last_turn());
  facts.rail = account.facts.rail;
  facts.local = account.facts.local;
  facts.peer = account.facts.peer;
  observe::put(facts.why, why);
  page_->keep(account.ring_slot, facts);
}

void EngineReport::on_flow_gone(engine::Flow& flow) {
  const engine::ConnectionInfo info = flow.stream().info();
  if (flow.account() == nullptr && info.bytes_sent + info.bytes_received == 0) {
    return;
  }
  FlowAccount& account = account_of(flow, /*records=*/false);
  account.take(info, flow.stream());
  --account.path->facts.flows;
  flow.set_recorder({});
  page_->give_back(observe::Table::ring, account.ring_slot);
  page_->give_back(observe::Table::flow, account.slot);
  page_->publish(account.path->slot, account.path->id, account.path->facts);
  flow.set_account(nullptr);
}

}  // namespace tfabric::report
