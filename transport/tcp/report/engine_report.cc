#include "transport/tcp/report/engine_report.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace tfabric::tcp {
namespace {

// What is looked at each millisecond: with thousands, each is a dozen lines that are in no cache. A flow of
// the kernel's costs a system call.
constexpr std::size_t kCommsAtATime = 4, kFlowsAtATime = 4, kCostOfKernelFlow = 4;
// With a few, all are looked at this often.
constexpr Duration kRound = std::chrono::milliseconds(10);
// Rails may have thousands of links.
constexpr Duration kRailInterval = std::chrono::milliseconds(100);
// What a rail carries in that time when it only asks whether peers are there.
constexpr std::uint64_t kTrickle = 64 << 10;
// What is worth a keepsake, once it is over: time-outs in a row, and a peer without room.
constexpr std::uint32_t kTimeouts = 3;
constexpr Duration kClosed = std::chrono::seconds(1);

std::uint64_t ns(Duration duration) { return static_cast<std::uint64_t>(duration.count()); }
std::uint64_t ns(Instant instant) { return ns(instant.time_since_epoch()); }

// Returns how much has come, and remembers it. Counters of the kernel may be read at different moments.
std::uint64_t news(std::uint64_t now, std::uint64_t& before) {
  const std::uint64_t more = now > before ? now - before : 0;
  before = std::max(now, before);
  return more;
}

void take_gauges(const stack::ConnectionInfo& info, const stack::ByteStream& stream,
                 observe::FlowFacts& facts) {
  observe::put(facts.state, stack::to_string(info.state));
  facts.rtt_ns = ns(info.srtt);
  facts.rttvar_ns = ns(info.rttvar);
  facts.min_rtt_ns = ns(info.min_rtt);
  facts.rto_ns = ns(info.rto);
  facts.cwnd = info.cwnd;
  facts.ssthresh = info.ssthresh;
  facts.flight = info.flight;
  facts.snd_wnd = info.snd_wnd;
  facts.rcv_wnd = info.rcv_wnd;
  facts.mss = info.mss;
  const std::uint64_t left = stream.stream_written() - stream.stream_acked();
  facts.unsent = left > info.flight ? left - info.flight : 0;
  facts.tail_probes = info.tail_probes;
  facts.progressed_at = ns(stream.progressed_at());
}

}  // namespace

class EngineReport::FlowAccount final : public engine::FlowAccount {
 public:
  std::uint64_t id = 0;
  std::uint32_t slot = observe::Page::kNone;
  PathAccount* path = nullptr;
  observe::FlowFacts facts;
  std::uint32_t ring_slot = observe::Page::kNone;
  // What is wrong with it, until it is over.
  bool timed_out = false;
  Instant closed_since{};  // the peer has no room; Instant{}: it has

  // What the flow has done since the last time goes into its path.
  void take(const stack::ConnectionInfo& info, const stack::ByteStream& stream) {
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
    sums.busy_ns += news(ns(info.busy), facts.busy_ns);
    sums.peer_window_limited_ns += news(ns(info.peer_window_limited), facts.peer_window_limited_ns);
    sums.network_limited_ns += news(ns(info.network_limited), facts.network_limited_ns);
    take_gauges(info, stream, facts);
    if (info.srtt > Duration{}) {
      sums.rtt_ns = ns(info.srtt);
    }
    if (info.min_rtt > Duration{} && (sums.min_rtt_ns == 0 || ns(info.min_rtt) < sums.min_rtt_ns)) {
      sums.min_rtt_ns = ns(info.min_rtt);
    }
  }
};

EngineReport::EngineReport(observe::Page& page, watchdog::Watchdog& watchdog, engine::Engine& engine,
                           const PathBook& paths, std::uint16_t number, std::string_view progress)
    : page_(&page),
      watch_(watchdog, number),
      engine_(&engine),
      book_(&paths),
      id_(page.new_id()),
      slot_(page.take(observe::Table::engine)) {
  facts_.number = number;
  observe::put(facts_.progress, progress);
}

EngineReport::~EngineReport() {
  page_->give_back(observe::Table::engine, slot_);
  for (const RailAccount& rail : rails_) {
    page_->give_back(observe::Table::rail, rail.slot);
  }
  for (const auto& [where, path] : paths_) {
    page_->give_back(observe::Table::path, path.slot);
  }
}

void EngineReport::add_rail(Rail& rail) {
  rails_.push_back(
      {.rail = &rail, .id = page_->new_id(), .slot = page_->take(observe::Table::rail), .gone = {}});
  next_rails_ = {};
}

void EngineReport::add(ShownComm& comm) {
  comm.account() = {.id = page_->new_id(),
                    .slot = page_->take(observe::Table::comm),
                    .place = static_cast<std::uint32_t>(comms_.size())};
  comms_.push_back(&comm);
}

void EngineReport::remove(ShownComm& comm) {
  if (comm.account().waited) {
    mind_wait(comm.account(), ns(engine_->last_turn()));
  }
  watch_.on_gone(comm, engine_->last_turn());
  page_->give_back(observe::Table::comm, comm.account().slot);
  const std::uint32_t place = comm.account().place;
  comms_[place] = comms_.back();
  comms_[place]->account().place = place;
  comms_.pop_back();
}

void EngineReport::mind_wait(const ShownComm::Account& account, std::uint64_t now) {
  const std::uint64_t wait = std::max(now, account.moved_at) - account.moved_at;
  longest_wait_ = std::max(longest_wait_, Duration(static_cast<Duration::rep>(wait)));
}

// --- looking

void EngineReport::on_time(Instant now) {
  look_at_flows(now);
  look_at_comms(now);
  watch_.on_time(now, engine_->paused());
  publish_engine(ns(now));
  if (now >= next_rails_) {
    next_rails_ = now + kRailInterval;
    mind_cpu();
    for (RailAccount& rail : rails_) {
      publish_rail(rail);
    }
  }
}

void EngineReport::Round::begin(std::size_t all, Instant now) {
  if (left == 0 && now >= next) {
    left = all;
    next = now + kRound;
  }
}

void EngineReport::look_at_comms(Instant time) {
  comm_round_.begin(comms_.size(), time);
  const std::uint64_t now = ns(time);
  for (std::size_t i = 0; i < kCommsAtATime && comm_round_.left > 0 && !comms_.empty(); ++i) {
    --comm_round_.left;
    next_comm_ = next_comm_ + 1 < comms_.size() ? next_comm_ + 1 : 0;
    ShownComm& comm = *comms_[next_comm_];
    ShownComm::Sight sight;
    comm.show(sight);
    if (sight.flow != nullptr && sight.flow->account() != nullptr) {
      const observe::PathFacts& path = static_cast<FlowAccount&>(*sight.flow->account()).path->facts;
      sight.facts.rail = path.rail;
      sight.facts.peer = path.peer;
    }
    ShownComm::Account& account = comm.account();
    const bool moved = sight.moves != account.moves;
    if (moved || sight.facts.outstanding == 0 || account.moved_at == 0) {
      if (account.waited) {
        mind_wait(account, now);
      }
      account.moves = sight.moves;
      account.moved_at = now;
    }
    account.waited = sight.facts.outstanding > 0;
    watch_.see(comm, ShownComm::load_of(sight), moved, time);
    sight.facts.engine = facts_.number;
    sight.facts.waiting_since = sight.facts.outstanding == 0 ? 0 : account.moved_at;
    page_->publish(account.slot, account.id, sight.facts);
    if (comm_round_.left == 0) {
      watch_.end_round();
    }
  }
}

// Our own flows come first, then those of each carrier of the kernel's.
engine::Flow* EngineReport::flow_at(std::size_t place, bool& by_kernel) const {
  by_kernel = place >= engine_->own_flows().size();
  if (!by_kernel) {
    return engine_->own_flows()[place].get();
  }
  place -= engine_->own_flows().size();
  for (const auto& carrier : engine_->polled_carriers()) {
    if (place < carrier->flows()) {
      return &carrier->flow_at(place);
    }
    place -= carrier->flows();
  }
  return nullptr;
}

void EngineReport::look_at_flows(Instant now) {
  const std::size_t all = engine_->flows();
  flow_round_.begin(all, now);
  for (std::size_t cost = 0; cost < kFlowsAtATime && flow_round_.left > 0 && all > 0;) {
    --flow_round_.left;
    next_flow_ = next_flow_ + 1 < all ? next_flow_ + 1 : 0;
    bool by_kernel = false;
    if (engine::Flow* flow = flow_at(next_flow_, by_kernel)) {
      look_at(*flow);
    }
    cost += by_kernel ? kCostOfKernelFlow : 1;
  }
}

EngineReport::FlowAccount& EngineReport::account_of(engine::Flow& flow) {
  if (flow.account() == nullptr) {
    auto account = std::make_unique<FlowAccount>();
    account->id = page_->new_id();
    account->slot = page_->take(observe::Table::flow);
    const std::string& rail = flow.carrier().name();
    const auto [found, made] = paths_.try_emplace({rail, flow.remote()});
    PathAccount& path = found->second;
    if (made) {
      path.id = page_->new_id();
      path.slot = page_->take(observe::Table::path);
      path.facts.engine = facts_.number;
      observe::put(path.facts.rail, rail);
      observe::put(path.facts.peer, net::to_string(flow.remote()));
    }
    ++path.facts.flows;
    account->path = &path;
    const std::string ends = flow.describe();
    const std::size_t middle = ends.find(" - ");
    observe::put(account->facts.rail, rail);
    observe::put(account->facts.local, ends.substr(0, middle));
    observe::put(account->facts.peer, middle == std::string::npos ? std::string() : ends.substr(middle + 3));
    if (!flow.by_kernel()) {
      flow.set_recorder(page_->take_ring(account->id, account->ring_slot));
    }
    flow.set_account(std::move(account));
  }
  return static_cast<FlowAccount&>(*flow.account());
}

void EngineReport::look_at(engine::Flow& flow) {
  const stack::ConnectionInfo info = flow.stream().info();
  if (flow.account() == nullptr && info.state < stack::State::established) {
    return;  // it may take another port, or never be one
  }
  FlowAccount& account = account_of(flow);
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

void EngineReport::keep(engine::Flow& flow, std::string_view why) {
  if (flow.account() != nullptr) {
    keep(static_cast<FlowAccount&>(*flow.account()), why);
  }
}

void EngineReport::keep(const FlowAccount& account, std::string_view why) {
  observe::KeepsakeFacts facts;
  facts.flow = account.id;
  facts.comm = account.facts.comm;
  facts.kept_at = ns(engine_->last_turn());
  facts.rail = account.facts.rail;
  facts.local = account.facts.local;
  facts.peer = account.facts.peer;
  observe::put(facts.why, why);
  page_->keep(account.ring_slot, facts);
}

void EngineReport::on_flow_gone(engine::Flow& flow) {
  const stack::ConnectionInfo info = flow.stream().info();
  if (flow.account() == nullptr && info.bytes_sent + info.bytes_received == 0) {
    return;
  }
  FlowAccount& account = account_of(flow);
  account.take(info, flow.stream());
  --account.path->facts.flows;
  flow.set_recorder({});
  page_->give_back(observe::Table::ring, account.ring_slot);
  page_->give_back(observe::Table::flow, account.slot);
  page_->publish(account.path->slot, account.path->id, account.path->facts);
  flow.set_account(nullptr);
}

void EngineReport::on_link_gone(const engine::Link& link) {
  for (RailAccount& rail : rails_) {
    if (rail.rail->config().name == link.name()) {
      rail.gone += link.counters();
    }
  }
}

// --- publishing

// Of a thread, what it has taken since any engine saw it last.
void EngineReport::mind_cpu() {
  thread_local std::uint64_t seen = 0;
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) {
    return;
  }
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint64_t taken =
      static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
  if (seen != 0) {
    facts_.cpu_ns += taken - seen;
  }
  seen = taken;
}

void EngineReport::publish_engine(std::uint64_t now) {
  const engine::EngineCounters& counters = engine_->counters();
  facts_.turned_at = now;
  facts_.turns = counters.turns;
  facts_.segments = counters.segments;
  facts_.no_flow = counters.no_flow;
  facts_.flows = engine_->flows();
  facts_.comms = comms_.size();
  facts_.starved_ns = ns(engine_->paused());
  page_->publish(slot_, id_, facts_);
}

engine::LinkCounters EngineReport::counters_of(const RailAccount& account) const {
  engine::LinkCounters sums = account.gone;
  const std::string& name = account.rail->config().name;
  for (const auto& link : engine_->links()) {
    if (link->name() == name) {
      sums += link->counters();
    }
  }
  if (!config::is_kernel_stack(account.rail->config())) {
    return sums;
  }
  // The kernel counts the frames; what it has of ours is payload.
  for (const auto& [where, path] : paths_) {
    if (where.first == name) {
      sums.tx_bytes += path.facts.sent_bytes;
      sums.tx_payload += path.facts.sent_bytes;
      sums.rx_bytes += path.facts.received_bytes;
    }
  }
  return sums;
}

std::string EngineReport::fault_of(const RailAccount& account) const {
  const Instant now = engine_->last_turn();
  const auto rehearsal = account.rail->rehearsal();
  std::string text = rehearsal == nullptr ? std::string() : rehearsal->present(now);
  if (engine_->rehearsal() != nullptr) {
    const std::string of_process = engine_->rehearsal()->present(now);
    text += (text.empty() || of_process.empty() ? "" : ", ") + of_process;
  }
  return text;
}

observe::RailFacts EngineReport::facts_of(const Rail& rail) {
  const auto account =
      std::find_if(rails_.begin(), rails_.end(), [&](const RailAccount& one) { return one.rail == &rail; });
  publish_rail(*account);
  return facts_of(*account);
}

void EngineReport::publish_rail(RailAccount& account) {
  observe::RailFacts facts = facts_of(account);
  const std::uint64_t carried = facts.sent_bytes + facts.received_bytes;
  if (carried >= account.carried + kTrickle) {
    facts.busy_ns = account.busy_ns += ns(kRailInterval);
  }
  account.carried = carried;
  page_->publish(account.slot, account.id, facts);
}

observe::RailFacts EngineReport::facts_of(const RailAccount& account) const {
  const config::Rail& config = account.rail->config();
  const engine::LinkCounters sums = counters_of(account);
  const RailLosses losses = book_->losses_of(config.name);
  const auto is_away = [&](const auto& carrier) {
    return carrier->name() == config.name && carrier->is_away();
  };
  const auto& links = engine_->links();
  const auto& polled = engine_->polled_carriers();
  observe::RailFacts facts;
  observe::put(facts.name, config.name);
  observe::put(facts.kind, config::row_of(config.kind).name);
  observe::put(facts.device, config.device);
  observe::put(facts.address,
               account.rail->absent() ? std::string() : net::to_string(account.rail->address()));
  facts.engine = facts_.number;
  facts.mtu = account.rail->mtu();
  facts.up = account.rail->absent() || std::any_of(links.begin(), links.end(), is_away) ||
                     std::any_of(polled.begin(), polled.end(), is_away)
                 ? 0
                 : 1;
  facts.sent_bytes = sums.tx_bytes;
  facts.received_bytes = sums.rx_bytes;
  facts.sent_packets = sums.tx_packets;
  facts.received_packets = sums.rx_packets;
  facts.payload_bytes = sums.tx_payload;
  facts.repeated_bytes = sums.tx_repeated;
  facts.transmit_stalls = sums.tx_stalls;
  facts.lost_connections = losses.connections;
  facts.dealt_again_bytes = losses.bytes;
  for (const auto& link : links) {
    facts.absences += link->name() == config.name ? link->absences() : 0;
  }
  facts.busy_ns = account.busy_ns;
  observe::put(facts.fault, fault_of(account));
  return facts;
}

}  // namespace tfabric::tcp
