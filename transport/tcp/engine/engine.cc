#include "transport/tcp/engine/engine.h"

#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <sched.h>

#include <algorithm>
#include <cassert>
#include <ctime>

#include "base/log.h"
#include "base/random.h"
#include "transport/tcp/engine/port_trial.h"

namespace tfabric::engine {
namespace {

// Segments one flow may put out in a turn before the others have theirs.
constexpr int kSegmentsPerTurn = 32;
// ARP and ND timers, link state.
constexpr Duration kServiceInterval = std::chrono::milliseconds(1);
// Errors that say the path's MTU has shrunk are believed so often a flow (RFC 1191 §6.3: rarely needed).
constexpr Duration kMtuInterval = std::chrono::seconds(1);
// RSTs in answer to segments of no flow, a second: a scan gets no more. The burst is for flows that are
// aborted in full flight: each acknowledgement under way asks for one, and the peer's challenge comes behind
// them all.
constexpr double kResetsPerSecond = 1000;
constexpr double kResetBurst = 256;
// drain_payload() drops what a stalled driver does not take, and gives up, after so many attempts of a
// millisecond.
constexpr int kDropAttempts = 10;
constexpr int kDrainAttempts = 1000;

std::array<std::byte, 16> random_secret() {
  std::array<std::byte, 16> secret;
  fill_random(secret);
  return secret;
}

}  // namespace

Engine::Engine(const EngineOptions& options)
    : options_(options),
      lock_(options.number),
      payloads_(options.max_kept_packets),
      sequences_(random_secret()),
      cookies_(random_secret()),
      ports_(random_secret(), options.first_port, options.ports),
      table_(random_secret()),
      resets_(kResetsPerSecond, kResetBurst, random_u64()) {
  if (options_.port == 0) {
    options_.port = static_cast<std::uint16_t>(options_.first_port + random_u64() % options_.ports);
  }
  now_ = monotonic_now();
}

Engine::~Engine() {
  flows_.clear();
  links_.clear();
}

bool Engine::progress() {
  if (lock_.contended()) {
    // Who polls finds the lock free again and again, and who waits never would: for seconds, if they share a
    // CPU.
    sched_yield();
    return false;
  }
  if (!lock_.try_lock()) {
    return false;
  }
  const bool worked = turn();
  lock_.unlock();
  return worked;
}

bool Engine::turn() {
  now_ = monotonic_now();
  last_turn_.store(now_.time_since_epoch().count(), std::memory_order_relaxed);
  ++counters_.turns;
  submissions_.take();
  bool worked = false;
  for (const auto& link : links_) {
    worked |= receive(*link);
  }
  run_timers();
  if (now_ >= next_service_) {
    service_links();
  }
  run_progress();
  for (const auto& link : links_) {
    worked |= run_output(*link);
    link->flush();
  }
  reap();
  return worked;
}

// --- receiving

bool Engine::receive(Link& link) {
  std::array<rte_mbuf*, kBurst> packets;
  const std::uint16_t count = link.receive(packets, counters_.exchange);
  for (std::uint16_t i = 0; i < count; ++i) {
    if (i + 1 < count) {
      rte_prefetch0(rte_pktmbuf_mtod(packets[i + 1], void*));
    }
    on_packet(link, packets[i]);
  }
  bool more = false;
  if (link.member().exchange != nullptr) {
    more = receive_from_others(link);
  }
  while (link.has_room()) {
    auto frame = link.interface().next_frame();
    if (!frame) {
      break;
    }
    link.send_frame(*frame);
  }
  return count > 0 || more;
}

void Engine::on_packet(Link& link, rte_mbuf* packet) {
  if (packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0) {
    on_chain(link, packet);
    return;
  }
  bool kept = false;
  const std::span<const std::byte> frame(rte_pktmbuf_mtod(packet, const std::byte*), packet->data_len);
  const net::InputResult result = link.interface().input(frame, meta_of(link, *packet), now_);
  if (result.kind == net::InputResult::Kind::tcp) {
    kept = on_tcp(link, result.tcp, packet);
  } else if (result.kind == net::InputResult::Kind::icmp_error) {
    on_icmp(result.icmp);
  }
  if (!kept) {
    rte_pktmbuf_free(packet);
  }
}

net::RxMeta Engine::meta_of(const Link& link, const rte_mbuf& packet) const {
  net::RxMeta meta = link.meta_of(packet);
  meta.overheard = arrival_ == Arrival::news;
  return meta;
}

// Returns whether the packet now belongs to a flow.
bool Engine::on_tcp(Link& link, const net::TcpPacket& tcp, rte_mbuf* packet) {
  std::optional<stack::SegmentIn> segment = stack::parse_segment(tcp.bytes);
  if (!segment) {
    return false;
  }
  segment->congestion_experienced = tcp.congestion_experienced;
  segment->payload.owner = packet;
  Flow* flow = flow_for(link, tcp, *segment);
  return flow != nullptr && hand(*flow, *segment);
}

Flow* Engine::flow_for(Link& link, const net::TcpPacket& tcp, const stack::SegmentIn& segment) {
  ++counters_.segments;
  const FlowKey key{tcp.destination, tcp.source, {segment.destination_port, segment.source_port}};
  Flow* flow = table_.find(table_key(key));
  if (flow == nullptr) {
    flow = on_stranger(link, tcp, key, segment);
    if (flow == nullptr) {
      return nullptr;
    }
  }
  if (flow->link_ != &link) {
    // Somebody else's packet with our numbers: no flow changes its wire.
    return nullptr;
  }
  if (flow->time_wait_ && reincarnate(*flow, tcp, segment)) {
    return nullptr;
  }
  if (flow->trial_ != nullptr && try_another_port(*flow, tcp, segment)) {
    return nullptr;
  }
  if (flow->connection_->finished()) {
    // Its handler has yet to let go of it; for the peer it is gone.
    answer_with_reset(link, tcp, segment);
    return nullptr;
  }
  return flow;
}

bool Engine::hand(Flow& flow, const stack::SegmentIn& segment) {
  flow.connection_->on_segment(segment, now_);
  deliver(flow);
  const bool kept = flow.connection_->settle();
  mark(flow);
  return kept;
}

void Engine::on_icmp(const net::IcmpError& error) {
  Flow* flow = table_.find(table_key({error.local, error.remote, {error.local_port, error.remote_port}}));
  if (flow == nullptr) {
    return;
  }
  // RFC 5927 §4.1: an error about bytes that are not in flight is forged or stale.
  const stack::ConnectionInfo info = flow->connection_->info();
  const stack::Seq quoted(error.sequence);
  if (quoted < info.snd_una || quoted >= info.snd_nxt) {
    return;
  }
  if (error.kind == net::IcmpError::Kind::packet_too_big) {
    const std::uint32_t headers = (error.local.is_v4() ? 20u : 40u) + stack::kTcpHeaderBytes;
    // RFC 9293 §3.7.1, and RFC 8201 §4: no path that carries IPv6 has less.
    const std::uint32_t least = error.local.is_v4() ? 536 : 1280 - headers;
    const std::uint32_t mss = error.mtu > headers + least ? error.mtu - headers : least;
    // Each costs the retransmission of what is in flight: whoever sees the wire could ask for no end of it.
    if (mss >= info.mss || now_ - flow->mtu_told_ < kMtuInterval) {
      return;
    }
    flow->mtu_told_ = now_;
    flow->connection_->set_path_mss(static_cast<std::uint16_t>(std::min(mss, 65535u)), now_);
  } else if (info.state == stack::State::syn_sent) {
    // RFC 5927 §5.2: hard errors end only connections that are not synchronised.
    flow->connection_->fail(stack::ConnectionError::unreachable);
  }
  mark(*flow);
}

void Engine::deliver(Flow& flow) {
  stack::Connection& connection = *flow.connection_;
  for (;;) {
    const std::span<const std::byte> bytes = connection.readable();
    if (bytes.empty()) {
      return;
    }
    if (flow.handler_ == nullptr) {
      // RFC 9293 §3.6: data for a user who has closed is answered by a reset, or the peer would wait.
      connection.abort();
      return;
    }
    const std::size_t taken = flow.handler_->on_data(flow, bytes);
    // Bytes that are wrong made the handler abort the flow: there is nothing to consume from any more.
    if (taken == 0 || connection.error() != stack::ConnectionError::none) {
      return;
    }
    connection.consume(static_cast<std::uint32_t>(taken));
  }
}

// --- time, handlers, output

void Engine::run_timers() {
  while (Timed* due = deadlines_.take_due(now_)) {
    auto& flow = static_cast<Flow&>(*due);
    flow.connection_->on_time(now_);
    mark(flow);  // its next deadline is asked for behind its output
  }
}

void Engine::service_links() {
  next_service_ = now_ + kServiceInterval;
  if (acceptor_ != nullptr) {
    acceptor_->on_time(now_);
  }
  for (const auto& link : links_) {
    link->interface().on_time(now_);
    const bool lost = link->lost();
    if (lost || link->stalled(now_)) {
      // Else the flows that have ended, and wait for room to say so, would stay.
      link->drop_staged();
    }
    if (!lost) {
      continue;
    }
    for (const auto& flow : flows_) {
      if (flow->link_ == link.get() && flow->connection_->error() == stack::ConnectionError::none) {
        flow->connection_->fail(stack::ConnectionError::unreachable);
        mark(*flow);
      }
    }
  }
}

void Engine::mark(Flow& flow) {
  if (!flow.wants_progress_) {
    flow.wants_progress_ = true;
    progressed_.push_back(&flow);
  }
  wake(flow);
}

void Engine::wake(Flow& flow) {
  if (!flow.wants_output_) {
    flow.wants_output_ = true;
    flow.link_->output().push(flow);
  }
}

void Engine::resume(Flow& flow) {
  deliver(flow);
  mark(flow);
}

void Engine::run_progress() {
  // Handlers mark flows while they run; those get their turn in the next round of this loop.
  while (!progressed_.empty()) {
    progressed_now_.swap(progressed_);
    for (Flow* flow : progressed_now_) {
      flow->wants_progress_ = false;
      stack::Connection& connection = *flow->connection_;
      if (flow->half_open_ && (connection.established() || connection.finished())) {
        flow->half_open_ = false;
        --half_open_;
        if (connection.established()) {
          flow->header_ready_ = flow->header_is_reply_ = false;
        }
      }
      if (FlowHandler* handler = flow->handler_; handler != nullptr) {
        if (connection.error() == stack::ConnectionError::none) {
          handler->on_progress(*flow);
        } else {
          flow->handler_ = nullptr;
          forget_payload(*flow);
          handler->on_failed(*flow, failure_of(*flow));
        }
      }
    }
    progressed_now_.clear();
  }
}

// A silent neighbour ends no flow before the flow's own time is over; but then it is the reason (RFC 1122
// §4.2.3.9: soft errors).
stack::ConnectionError Engine::failure_of(const Flow& flow) const {
  const stack::ConnectionError error = flow.connection_->error();
  return error == stack::ConnectionError::timed_out && is_silent(flow) ? stack::ConnectionError::unreachable
                                                                       : error;
}

bool Engine::is_silent(const Flow& flow) const {
  return flow.link_->interface().is_silent(flow.key_.remote, now_);
}

// Flows that a full driver leaves no room for are not looked at: there may be thousands of them, and many
// turns until it takes more.
bool Engine::run_output(Link& link) {
  bool sent = false;
  for (std::size_t flows = link.output().size(); flows > 0 && link.make_room(); --flows) {
    Flow& flow = link.output().pop();
    flow.wants_output_ = false;
    sent |= output(flow);
    deadlines_.set(flow, flow.connection_->next_deadline());
    bound_time_wait(flow);
    if (flow.connection_->finished() && !flow.finished_) {
      flow.finished_ = true;
      finished_.push_back(&flow);
    }
  }
  return sent;
}

bool Engine::output(Flow& flow) {
  if (!ready_to_send(flow)) {
    return false;
  }
  stack::SegmentOut segment;
  bool sent = false;
  for (int i = 0; i < kSegmentsPerTurn; ++i) {
    if (!flow.link_->make_room()) {
      wake(flow);
      return sent;
    }
    if (!flow.connection_->next_segment(segment, now_)) {
      return sent;
    }
    if (flow.came_elsewhere_ && (segment.flags & stack::flag::syn) != 0) {
      segment.window = std::min(segment.window, kElsewhereWindow);
    }
    if (!flow.link_->send(flow.header_, segment)) {
      ++counters_.output_lost;
    }
    sent = true;
  }
  wake(flow);
  return sent;
}

bool Engine::ready_to_send(Flow& flow) {
  net::Interface& interface = flow.link_->interface();
  if (flow.header_ready_ && (flow.header_is_reply_ || flow.header_generation_ == interface.generation())) {
    return true;
  }
  switch (interface.prepare(flow.key_.local, flow.key_.remote, flow.header_, now_)) {
    case net::Interface::Route::ready:
      flow.header_ready_ = true;
      flow.header_generation_ = interface.generation();
      return true;
    case net::Interface::Route::pending:
      flow.header_ready_ = false;
      if (flow.connection_->state() == stack::State::closed && is_silent(flow)) {
        flow.connection_->fail(flow.connection_->error());  // there is nobody to hear its RST
      } else {
        wake(flow);
      }
      return false;
    case net::Interface::Route::unreachable:
      flow.header_ready_ = false;
      if (!flow.connection_->finished()) {
        flow.connection_->fail(stack::ConnectionError::unreachable);
        mark(flow);
      }
      return false;
  }
  return false;
}

void Engine::bound_time_wait(Flow& flow) {
  if (flow.time_wait_ || flow.connection_->state() != stack::State::time_wait) {
    return;
  }
  flow.time_wait_ = true;
  time_wait_.push_back(&flow);
  if (time_wait_.size() > options_.max_time_wait) {
    ++counters_.time_wait_dropped;
    Flow& oldest = *time_wait_.front();
    time_wait_.pop_front();
    oldest.time_wait_ = false;
    oldest.connection_->fail(stack::ConnectionError::none);
    wake(oldest);
  }
}

// --- flows and links

Flow& Engine::add_flow(const FlowKey& key, Link& link, FlowHandler* handler, std::size_t index,
                       std::unique_ptr<stack::Connection> connection) {
  flows_.push_back(std::make_unique<Flow>(key, link, handler, index, std::move(connection)));
  Flow& flow = *flows_.back();
  flow.position_ = flows_.size() - 1;
  table_.insert(table_key(key), &flow);
  return flow;
}

stack::Seq Engine::initial_sequence(const FlowKey& key) const {
  return sequences_.initial(key.local.bytes, key.remote.bytes, key.ports, now_);
}

Flow* Engine::connect(Link& link, const net::IpAddress& remote, std::uint16_t port, FlowHandler* handler,
                      std::size_t index) {
  const std::optional<net::IpAddress> local = link.interface().source_for(remote);
  if (!local) {
    return nullptr;
  }
  const std::optional<std::uint16_t> local_port = choose_port(link, *local, remote, port);
  if (!local_port) {
    return nullptr;
  }
  const FlowKey key{*local, remote, {*local_port, port}};
  auto connection =
      stack::Connection::connect(link.tcp_options(options_.tcp, remote.is_v4()), payloads_.ops(), key.ports,
                                 initial_sequence(key), monotonic_now());
  Flow& flow = add_flow(key, link, handler, index, std::move(connection));
  begin_trial(flow);
  wake(flow);
  return &flow;
}

void Engine::close(Flow& flow) {
  flow.handler_ = nullptr;
  flow.connection_->close();
  mark(flow);
}

bool Engine::owes_peers() const {
  return std::any_of(flows_.begin(), flows_.end(), [](const auto& flow) {
    const stack::State state = flow->connection_->state();
    return flow->handler_ == nullptr &&
           (state == stack::State::syn_received || state == stack::State::established ||
            state == stack::State::fin_wait_1);
  });
}

// What was not acknowledged may wait for room in the driver, by reference; now its owner may free it.
void Engine::forget_payload(Flow& flow) {
  if (flow.connection_->stream_written() != flow.connection_->stream_acked()) {
    flow.link_->drop_staged();
  }
}

void Engine::abort(Flow& flow) {
  flow.handler_ = nullptr;
  forget_payload(flow);
  flow.connection_->abort();
  mark(flow);
}

void Engine::remove_flow(Flow& flow) {
  if (flow.half_open_) {
    --half_open_;
  }
  if (flow.time_wait_) {
    time_wait_.erase(std::find(time_wait_.begin(), time_wait_.end(), &flow));
  }
  deadlines_.remove(flow);
  table_.erase(table_key(flow.key_));
  const std::size_t position = flow.position_;
  if (position + 1 != flows_.size()) {
    flows_[position].swap(flows_.back());
    flows_[position]->position_ = position;
  }
  flows_.pop_back();
}

// Removes flows that have nothing left to do. Those still in another list wait for the next turn; one whose
// handler has yet to let go of it comes back here when it does.
void Engine::reap() {
  std::size_t kept = 0;
  for (Flow* flow : finished_) {
    if (flow->wants_output_ || flow->wants_progress_) {
      finished_[kept++] = flow;
    } else if (flow->handler_ == nullptr) {
      remove_flow(*flow);
    } else {
      flow->finished_ = false;
    }
  }
  finished_.resize(kept);
}

void Engine::add_link(std::unique_ptr<Link> link, bool announce) {
  if (announce) {
    link->interface().announce(now_);
  }
  links_.push_back(std::move(link));
}

std::unique_ptr<Link> Engine::remove_link(Link& link) {
  for (const auto& flow : flows_) {
    if (flow->link_ == &link && flow->connection_->error() == stack::ConnectionError::none) {
      flow->connection_->fail(stack::ConnectionError::unreachable);
      mark(*flow);
    }
  }
  run_progress();
  const auto on_link = [&link](const Flow* flow) { return flow->link_ == &link; };
  link.output().clear();
  std::erase_if(progressed_, on_link);
  std::erase_if(finished_, on_link);
  for (std::size_t i = flows_.size(); i-- > 0;) {
    if (flows_[i]->link_ == &link) {
      remove_flow(*flows_[i]);
    }
  }
  const auto found =
      std::find_if(links_.begin(), links_.end(), [&link](const auto& l) { return l.get() == &link; });
  assert(found != links_.end());
  std::unique_ptr<Link> removed = std::move(*found);
  links_.erase(found);
  return removed;
}

void Engine::drain_payload() {
  for (const auto& link : links_) {
    for (int attempt = 0; link->holds_payload(); ++attempt) {
      if (attempt == kDropAttempts) {
        link->drop_staged();
      }
      if (attempt == kDrainAttempts) {
        TF_WARN("NET/tfabric: the driver of {} still holds packets of memory that is being deregistered",
                link->port().name());
        break;
      }
      timespec pause{.tv_sec = 0, .tv_nsec = 1000000};
      nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace tfabric::engine
