#include "transport/tcp/stack/connection.h"

#include <algorithm>
#include <cassert>

#include "transport/tcp/stack/connection_impl.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {
namespace {

// How long a finished connection keeps its ports. RFC 9293 §3.6.1 asks for 2 MSL (minutes). Initial sequence
// numbers that grow with time, and timestamps (RFC 6191), protect against old segments, and rails are private
// networks, where old segments hardly exist.
constexpr Duration kTimeWait = std::chrono::milliseconds(100);

}  // namespace

Connection::Impl::Impl(std::shared_ptr<const Options> opts, const PayloadOps& ops, Ports port_pair,
                       Seq initial, Instant at)
    : shared_options(std::move(opts)),
      options(*shared_options),
      user_timeout(options.user_timeout),
      ports(port_pair),
      now(at),
      iss(initial),
      share(options.receive_share.get()),
      rcv_scale(window_scale_for(options.receive_buffer)),
      reassembly(ops),
      congestion(make_congestion_control(options.congestion, options.mss,
                                         std::uint64_t{options.initial_window_segments} * options.mss)),
      rtt(options.initial_rto, options.min_rto, options.max_rto, options.rto_granularity) {
  send_syn = true;
  ask_ecn = options.ecn;
  connect_at = at + options.connect_timeout;
  last_progress = last_heard = at;
}

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::~Connection() = default;

std::unique_ptr<Connection> Connection::connect(std::shared_ptr<const Options> options, const PayloadOps& ops,
                                                Ports ports, Seq initial_sequence, Instant now) {
  auto impl = std::make_unique<Impl>(std::move(options), ops, ports, initial_sequence, now);
  impl->state = State::syn_sent;
  return std::unique_ptr<Connection>(new Connection(std::move(impl)));
}

std::unique_ptr<Connection> Connection::accept(std::shared_ptr<const Options> options, const PayloadOps& ops,
                                               const SegmentIn& syn, Seq initial_sequence, Instant now) {
  const Ports ports{syn.destination_port, syn.source_port};
  auto impl = std::make_unique<Impl>(std::move(options), ops, ports, initial_sequence, now);
  impl->state = State::syn_received;
  impl->take_syn_options(syn);
  return std::unique_ptr<Connection>(new Connection(std::move(impl)));
}

std::unique_ptr<Connection> Connection::accept_answered(std::shared_ptr<const Options> options,
                                                        const PayloadOps& ops, const SegmentIn& syn,
                                                        Seq initial_sequence, Instant now) {
  std::unique_ptr<Connection> connection = accept(std::move(options), ops, syn, initial_sequence, now);
  SegmentOut answer;  // was sent already
  connection->impl_->next_segment(answer, now);
  return connection;
}

// --- receiving

void Connection::on_segment(const SegmentIn& segment, Instant now) { impl_->on_segment(segment, now); }

std::span<const std::byte> Connection::readable() const {
  const Impl& c = *impl_;
  if (c.error == ConnectionError::aborted) {
    return {};
  }
  return c.reassembly.queue_empty() ? std::span(c.current.data, c.current.size) : c.reassembly.front();
}

void Connection::consume(std::uint32_t n) {
  Impl& c = *impl_;
  assert(n <= readable().size());
  if (c.reassembly.queue_empty()) {
    c.current.data += n;
    c.current.size -= n;
  } else {
    c.reassembly.consume(n);
  }
  c.touch_window(n);
}

bool Connection::settle() { return impl_->settle(); }

bool Connection::received_all() const { return impl_->peer_fin; }
bool Connection::peer_finished() const { return impl_->peer_fin && impl_->unread() == 0; }

// Announces the window when it has opened by much (RFC 9293 §3.8.6.2.2).
void Connection::Impl::touch_window(std::uint32_t) {
  if (state == State::fin_wait_2) {
    restart_fin_wait_2();  // while the window was closed, the peer could not send
  }
  const auto announced = static_cast<std::uint32_t>(std::max(rcv_adv - rcv_nxt, 0));
  const std::uint32_t room = receive_room(), largest = largest_window();
  if (room > announced && room - announced >= std::min(largest / 4, 64 * mss) && announced < largest / 2) {
    ack_now = true;
  }
}

// --- sending

std::uint32_t Connection::send_room() const {
  const Impl& c = *impl_;
  if (c.error != ConnectionError::none || c.fin_queued) {
    return 0;
  }
  const std::uint64_t used = c.queue.end() - std::min(c.snd_una, c.queue.end());
  return used >= c.options.send_buffer ? 0 : static_cast<std::uint32_t>(c.options.send_buffer - used);
}

bool Connection::can_send_ranges(std::uint32_t n) const { return impl_->queue.free_ranges() >= n; }

bool Connection::send(const Payload& range) { return range.size <= send_room() && impl_->queue.push(range); }

bool Connection::send_inline(std::span<const std::byte> bytes) {
  return bytes.size() <= send_room() && impl_->queue.push_inline(bytes);
}

std::uint64_t Connection::stream_written() const { return impl_->queue.end(); }
void Connection::retry_at_once(Instant now) {
  if (impl_->rto_at != kNever) {
    impl_->rto_at = std::min(impl_->rto_at, now);
  }
}
std::uint32_t Connection::timeouts_in_row() const { return impl_->timeouts_in_row; }
Instant Connection::silent_since() const { return impl_->silent_since; }
Instant Connection::heard_at() const { return impl_->last_heard; }
std::uint64_t Connection::stream_acked() const { return std::min(impl_->snd_una, impl_->queue.end()); }

bool Connection::next_segment(SegmentOut& out, Instant now) {
  if (impl_->next_segment(out, now)) {
    return true;
  }
  impl_->limits.set(impl_->send_limit(), now);
  return false;
}

void Connection::hold_back(Instant now) {
  const bool idle = impl_->send_limit() == SendLimit::nothing_to_send;
  impl_->limits.set(idle ? SendLimit::nothing_to_send : SendLimit::owner, now);
}

bool Connection::holds_acknowledgement() const { return impl_->ack_held; }
void Connection::acknowledge_at_once() {
  impl_->ack_now = std::exchange(impl_->ack_held, false) || impl_->ack_now;
}

// --- life

void Connection::on_time(Instant now) { impl_->on_time(now); }

bool Connection::take_path_doubt() { return impl_->path_doubt.take(); }
Instant Connection::progressed_at() const { return impl_->path_doubt.progress(); }
Instant Connection::next_deadline() const { return impl_->next_deadline(); }
State Connection::state() const { return impl_->state; }
ConnectionError Connection::error() const { return impl_->error; }

bool Connection::established() const {
  return impl_->synchronized() && impl_->error == ConnectionError::none;
}

bool Connection::finished() const { return impl_->state == State::closed && !impl_->send_reset; }

void Connection::close() {
  Impl& c = *impl_;
  if (c.state == State::syn_sent) {
    c.end(ConnectionError::none);
    return;
  }
  c.fin_queued = true;
}

void Connection::abort(std::string_view reason) {
  Impl& c = *impl_;
  if (c.state == State::closed) {
    return;
  }
  const bool notify = c.state != State::syn_sent && c.state != State::time_wait;
  c.end(ConnectionError::aborted);
  c.send_reset = notify;
  c.reset_seq = c.seq_of(c.snd_nxt);
  c.reason = reason.substr(0, kMaxReason);
}

const std::string& Connection::reset_reason() const { return impl_->reason; }

void Connection::fail(ConnectionError error) {
  if (impl_->state != State::closed) {
    impl_->end(error);
  }
  impl_->send_reset = false;
}

void Connection::begin_anew(Ports ports, Seq initial_sequence, Instant now) {
  Impl& c = *impl_;
  assert(c.state == State::syn_sent);
  c.ports = ports;
  c.iss = initial_sequence;
  c.now = c.last_progress = c.last_heard = now;
  c.send_syn = true;
  c.send_reset = false;
  c.syn_sent_at = Instant{};
  c.rto_at = kNever;
  c.rtt.reset_backoff();
}

void Connection::keep_out_of_order(bool keep) { impl_->keeps_out_of_order = keep; }

bool Connection::reopened_by(const SegmentIn& syn) const {
  const Impl& c = *impl_;
  if (c.state != State::time_wait || (syn.flags & (flag::syn | flag::ack | flag::rst)) != flag::syn) {
    return false;
  }
  const bool beyond = syn.seq > c.rcv_nxt;
  if (!c.timestamps || !syn.has_timestamps) {
    return beyond;
  }
  return timestamp_before(c.ts_recent, syn.ts_val) || (syn.ts_val == c.ts_recent && beyond);
}

std::uint32_t Connection::probes_unanswered() const {
  const bool of_window = impl_->probe_unanswered != kNever;
  return impl_->keepalives_unanswered + (of_window ? static_cast<std::uint32_t>(impl_->persist_backoff) : 0);
}

void Connection::forgive(Duration pause, Instant now) { impl_->forgive(pause, now); }

void Connection::set_user_timeout(Duration timeout) { impl_->user_timeout = timeout; }

void Connection::set_path_mss(std::uint16_t mss, Instant now) {
  Impl& c = *impl_;
  mss = std::max(mss, kLeastMss);
  if (mss >= c.mss) {
    return;
  }
  c.path_mtu.on_too_big(mss, now);
  c.set_mss(mss);
  c.now = now;
  c.excused = 0;
  if (c.flight() > 0) {
    // RFC 1191 §6.4: segments that were too large are lost; their bytes are sent again in smaller ones.
    c.recovery = Recovery::timeout;
    c.recover = c.snd_nxt;
    c.segments.mark_all_lost();
    c.duplicates.reset();
    c.tlp.reset();
    c.undo.stop();
    c.frto.stop();
    c.pto_at = c.reorder_at = kNever;
  }
}

void Connection::Impl::set_mss(std::uint32_t value) {
  mss = value;
  congestion->set_mss(value);
}

void Connection::Impl::end(ConnectionError why) {
  state = State::closed;
  if (error == ConnectionError::none) {
    error = why;
  }
  rto_at = pto_at = reorder_at = paced_at = persist_at = keepalive_at = delayed_ack_at = wait_at =
      connect_at = kNever;
  earlier_ack.reset();
  // A reset that is owed for a segment of an older connection would carry this peer's reason, and nothing is
  // left for it to end. One that is to say of this end follows.
  send_reset = false;
  ack_now = ack_held = probe_now = probe_tail = override_window = send_syn = false;
}

ConnectionInfo Connection::info() const {
  const Impl& c = *impl_;
  ConnectionInfo info;
  info.state = c.state;
  info.snd_una = c.state == State::syn_sent || c.state == State::syn_received ? c.iss : c.seq_of(c.snd_una);
  info.snd_nxt = c.seq_of(c.snd_nxt);
  info.rcv_nxt = c.rcv_nxt;
  info.snd_wnd = static_cast<std::uint32_t>(c.snd_wnd);
  info.rcv_wnd = static_cast<std::uint32_t>(std::max(c.rcv_adv - c.rcv_nxt, 0));
  info.cwnd = static_cast<std::uint32_t>(std::min<std::uint64_t>(c.congestion->cwnd(), 0xffffffffu));
  info.ssthresh = static_cast<std::uint32_t>(std::min<std::uint64_t>(c.congestion->ssthresh(), 0xffffffffu));
  info.flight = static_cast<std::uint32_t>(c.flight());
  info.mss = c.effective_mss();
  info.recovery = c.recovery;
  info.sacked = static_cast<std::uint32_t>(c.segments.sacked_bytes());
  info.retransmitted = static_cast<std::uint32_t>(c.segments.repeated_bytes());
  info.reordering = static_cast<std::uint32_t>(c.rack.reordering());
  info.srtt = c.rtt.srtt();
  info.rttvar = c.rtt.rttvar();
  info.rto = c.rtt.rto();
  info.min_rtt = c.min_rtt.value();
  info.pacing_rate = c.pacer.rate();
  info.ecn = c.ecn.enabled();
  info.bytes_sent = c.snd_nxt;
  info.bytes_acked = c.snd_una;
  info.bytes_received = c.bytes_received;
  info.bytes_retransmitted = c.bytes_retransmitted;
  info.fast_retransmits = c.fast_retransmits;
  info.timeouts = c.timeouts;
  info.tail_probes = c.tail_probes;
  info.undone = c.undone;
  info.reo_wnd_mult = c.rack.reo_wnd_mult();
  info.pipe = c.pipe();
  info.path_limited = c.path_mtu.limited();
  info.out_of_order = c.out_of_order;
  info.busy = c.limits.busy();
  info.peer_window_limited = c.limits.peer_window();
  info.network_limited = c.limits.network();
  info.in_network = info.busy - info.peer_window_limited;
  info.delivered = info.carried = c.rate.delivered();
  return info;
}

void Connection::Impl::start_time_wait() {
  state = State::time_wait;
  wait_at = now + kTimeWait;
}

void Connection::Impl::on_fin_acked() {
  switch (state) {
    case State::fin_wait_1:
      state = State::fin_wait_2;
      restart_fin_wait_2();
      break;
    case State::closing:
      start_time_wait();
      break;
    case State::last_ack:
      end(ConnectionError::none);
      break;
    default:
      break;
  }
}

void Connection::Impl::on_peer_fin() {
  peer_fin = true;
  rcv_nxt += 1;
  ack_now = true;
  switch (state) {
    case State::syn_received:
    case State::established:
      state = State::close_wait;
      break;
    case State::fin_wait_1:
      state = State::closing;  // our FIN is not acknowledged yet: otherwise the state would be fin_wait_2
      break;
    case State::fin_wait_2:
      start_time_wait();
      break;
    default:
      break;
  }
}

}  // namespace tfabric::stack
