// Outgoing segments: what to send next, and when to wait (RFC 9293 §3.8, RFC 7323).
#include <algorithm>
#include <cassert>
#include <utility>

#include "transport/engine/rest.h"
#include "transport/tcp/stack/connection_impl.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {

bool Connection::Impl::next_segment(SegmentOut& out, Instant at) {
  now = at;
  if (send_reset) {
    return emit_reset(out);
  }
  if (state == State::closed) {
    return false;
  }
  if (send_syn) {
    return emit_syn(out);
  }
  if (!synchronized()) {
    return false;
  }
  if (earlier_ack) {
    emit_earlier_ack(out);
    return true;
  }
  if (may_send_data() && emit_data(out)) {
    return true;
  }
  if (probe_now) {
    // RFC 9293 §3.8.4 and §3.8.6.1: the peer answers an old sequence number with its window.
    probe_now = false;
    emit_empty(out, seq_of(snd_una) - 1);
    return true;
  }
  if (ack_now) {
    emit_empty(out, seq_of(snd_nxt));
    return true;
  }
  return false;
}

void Connection::Impl::start_header(SegmentOut& out, std::uint8_t flags, Seq seq) {
  out.source_port = ports.local;
  out.destination_port = ports.remote;
  out.seq = seq;
  out.ack = (flags & flag::ack) != 0 ? rcv_nxt : Seq(0);
  out.flags = flags;
  out.option_size = 0;
  out.piece_count = 0;
  out.retransmission = false;
  out.ecn_capable = false;
  out.stamped = false;
  out.window = 0;
  out.segment_size = 0;
  out.payload_size = 0;
}

bool Connection::Impl::emit_reset(SegmentOut& out) {
  send_reset = false;
  // A reset that ends our connection acknowledges what we have received (RFC 9293 §3.5.2). A reset that
  // answers an acknowledgement of another connection takes its sequence number from there and acknowledges
  // nothing: otherwise a peer that is still in SYN-SENT would take it for the answer to its SYN.
  const bool ack = state == State::closed && rcv_nxt != Seq();
  start_header(out, ack ? flag::rst | flag::ack : flag::rst, reset_seq);
  add_timestamps(out);  // RFC 7323 §3.2
  put_reason(out, reason);
  return true;
}

void Connection::Impl::add_timestamps(SegmentOut& out) const {
  if (timestamps) {
    out.stamped = true;
    out.ts_val = timestamp(now);
    out.ts_ecr = ts_recent;
    put32(out, kTimestampsHead);
    put32(out, out.ts_val);
    put32(out, out.ts_ecr);
  }
}

void Connection::Impl::add_options(SegmentOut& out) {
  add_timestamps(out);
  if (!sack || (!reassembly.has_holes() && !duplicate)) {
    return;
  }
  std::array<SackBlock, kMaxSackBlocks> blocks;
  const std::size_t room = timestamps ? 3 : 4;
  std::size_t count = 0;
  if (duplicate) {
    // RFC 2883 §4: reported once, in the first block. A block that contains it follows, since it is the
    // newest one.
    blocks[count++] = *duplicate;
    duplicate.reset();
  }
  count += reassembly.sack_blocks(std::span(blocks).subspan(count, room - count));
  put16(out, 0x0101);
  put8(out, 5);
  put8(out, static_cast<unsigned>(2 + 8 * count));
  for (std::size_t i = 0; i < count; ++i) {
    put32(out, blocks[i].left.raw());
    put32(out, blocks[i].right.raw());
  }
}

void Connection::Impl::emit_empty(SegmentOut& out, Seq seq) {
  start_header(out, ack_flags(), seq);
  add_options(out);
  out.window = announce_window();
}

// Acknowledges the bytes that came before the marks of the path changed. The window's end stays as announced.
void Connection::Impl::emit_earlier_ack(SegmentOut& out) {
  start_header(out, earlier_ack->ece ? flag::ack | flag::ece : flag::ack, seq_of(snd_nxt));
  add_options(out);
  out.ack = earlier_ack->ack;
  out.window = window_field(out.ack, static_cast<std::uint32_t>(std::max(rcv_adv - out.ack, 0)));
  earlier_ack.reset();
}

// Returns true if the pacer delays the next segment, until next_deadline().
bool Connection::Impl::paced() {
  if (pacer.may_send(now)) {
    return false;
  }
  paced_at = pacer.next();
  return true;
}

bool Connection::Impl::emit_data(SegmentOut& out) {
  if (snd_una == stream_end()) {
    return false;
  }
  if (probe_tail) {
    probe_tail = false;
    if (emit_tail_probe(out)) {
      return true;
    }
  }
  if (frto.wants_new_segment()) {
    frto.on_new_segment();
    if (usable_window() > 0 && snd_nxt < stream_end() && !segments.full()) {
      put_new_data(out, next_data());
      return true;
    }
  }
  if (frto.holds_retransmissions() && !force_retransmission) {
    return false;
  }
  if (segments.lost_bytes() > 0 && emit_retransmission(out)) {
    return true;
  }
  return emit_new_data(out);
}

bool Connection::Impl::emit_retransmission(SegmentOut& out) {
  const SentSegments::Number number = segments.first_lost();
  std::uint32_t size = std::min(segments.at(number).size, effective_mss());
  if (!force_retransmission && (pipe() + size > window() || paced())) {
    return false;
  }
  if (segments.at(number).size >= effective_mss()) {
    size = force_retransmission ? size : repeated_burst(number);
  } else if (!frto.holds_retransmissions()) {
    // Small segments are retransmitted as one, except the first after a time-out: F-RTO needs its
    // acknowledgement to find out whether the originals have arrived.
    const std::uint64_t room = force_retransmission ? effective_mss() : window() - pipe();
    size = segments.lost_run(number, std::min<std::uint64_t>(room, effective_mss()));
  }
  force_retransmission = false;
  put_again(out, number, size);
  return true;
}

// Retransmits `size` bytes from the beginning of a segment, or as many as fit: of one segment, of small ones
// that are joined, or of several that the driver cuts.
void Connection::Impl::put_again(SegmentOut& out, SentSegments::Number number, std::uint32_t size) {
  const std::uint64_t start = segments.at(number).start;
  emit_range(out, start, size, /*cut=*/size > effective_mss());
  out.retransmission = true;
  const std::uint32_t sent = out.payload_size + ((out.flags & flag::fin) != 0 ? 1u : 0u);
  if (out.segment_size == 0) {
    const SentSegments::Number last = segments.find(start + sent - 1);
    if (start + sent < segments.at(last).end()) {
      segments.split(last, static_cast<std::uint32_t>(start + sent - segments.at(last).start));
    }
    number = last == number ? number : segments.join(number, last);
  }
  record_repeated(number, sent);
  excused -= std::min<std::uint64_t>(excused, sent);
  prr.on_sent(sent);
  pacer.on_sent(sent, now);
  bytes_retransmitted += out.payload_size;
  if (rto_at == kNever) {
    arm_rto();
  }
}

// TLP_send_probe(), RFC 8985 §7.3: sends new data, whatever the congestion window, if there is any that the
// peer can take; otherwise retransmits the last segment.
bool Connection::Impl::emit_tail_probe(SegmentOut& out) {
  // Segments that have arrived since the timer expired may have made the probe needless.
  if (segments.empty() || recovery != Recovery::none || segments.sacked_segments() > 0) {
    return false;
  }
  ++tail_probes;
  if (usable_window() > 0 && snd_nxt < stream_end() && !segments.full()) {
    put_new_data(out, next_data());
    tlp.on_probe(snd_nxt, /*is_retransmission=*/false);
  } else {
    SentSegments::Number last = segments.end() - 1;
    if (segments.at(last).size > effective_mss()) {
      segments.split(last, segments.at(last).size - effective_mss());  // the path's MTU has shrunk
      ++last;
    }
    put_again(out, last, segments.at(last).size);
    tlp.on_probe(snd_nxt, /*is_retransmission=*/true);
  }
  pto_at = kNever;
  return true;
}

bool Connection::Impl::emit_new_data(SegmentOut& out) {
  if (snd_nxt >= stream_end()) {
    if (segments.lost_bytes() == 0 && pipe() < congestion->cwnd()) {
      rate.set_app_limited(pipe());
    }
    return false;
  }
  if (window_blocks() && (!override_window || usable_window() == 0)) {
    set_up_persist();
    return false;
  }
  // The congestion window counts data only: a FIN without data may be sent when the window is full.
  if ((pipe() + next_data() > window() && flight() > 0) || segments.full() || paced()) {
    return false;
  }
  const bool one = std::exchange(override_window, false);
  if (const std::optional<std::uint32_t> size = mtu_probe()) {
    put_mtu_probe(out, *size);
  } else {
    put_new_data(out, one ? next_data() : new_burst());
  }
  return true;
}

// Returns the size of a segment by which the path may be probed now. Its loss must be detectable by the
// segments after it, and must not be confused with other losses (RFC 4821 §7.4).
std::optional<std::uint32_t> Connection::Impl::mtu_probe() const {
  const std::optional<std::uint32_t> size = path_mtu.wanted_probe(now);
  if (!size || !sack || recovery != Recovery::none || segments.lost_bytes() > 0) {
    return std::nullopt;
  }
  constexpr std::uint64_t kFollowing = 3;  // segments
  const std::uint64_t needed = *size + kFollowing * mss;
  const bool possible = queue.end() - std::min(snd_nxt, queue.end()) >= needed && usable_window() >= needed &&
                        pipe() + *size <= window();
  return possible ? size : std::nullopt;
}

void Connection::Impl::put_mtu_probe(SegmentOut& out, std::uint32_t size) {
  const std::uint64_t start = snd_nxt;
  const std::uint32_t usual = std::exchange(mss, size);
  put_new_data(out, next_data());
  mss = usual;
  path_mtu.on_probe(start, size);
}

void Connection::Impl::put_new_data(SegmentOut& out, std::uint64_t data) {
  // A FIN directly after this data goes into the same segment, even a full one.
  const bool with_fin = fin_queued && snd_nxt + data == queue.end();
  const auto size = static_cast<std::uint32_t>(std::min(data + (with_fin ? 1 : 0), usable_window()));
  const bool was_idle = flight() == 0;
  if (was_idle) {
    last_progress = now;
    // Probes of an idle connection wake no peer.
    const Duration rest =
        std::min(engine::rest_after(now - path_doubt.progress(), Duration::zero()), options.max_peer_rest);
    peer_rest = rest > options.max_ack_delay ? static_cast<std::uint32_t>(rest.count()) : 0;
    congestion->on_idle();
    validation.on_idle();
  }
  emit_range(out, snd_nxt, size, /*cut=*/data > effective_mss());
  const bool fin = (out.flags & flag::fin) != 0;
  const std::uint32_t sent = out.payload_size + (fin ? 1u : 0u);
  record_new(out, was_idle);
  snd_nxt += sent;
  if (fin) {
    state = state == State::close_wait ? State::last_ack : State::fin_wait_1;
  }
  prr.on_sent(sent);
  pacer.on_sent(sent, now);
  if (ecn.enabled() && out.payload_size > 0) {
    out.ecn_capable = true;  // RFC 3168 §6.1.5: new data only
    out.flags |= ecn.take_cwr() ? flag::cwr : 0;
  }
  if (rto_at == kNever) {
    arm_rto();
  }
  arm_pto();
  persist_at = kNever;
}

// Emits the stream bytes [position, position + size), the last of which may be our FIN.
void Connection::Impl::emit_range(SegmentOut& out, std::uint64_t position, std::uint32_t size, bool cut) {
  start_header(out, ack_flags(), seq_of(position));
  add_options(out);
  // SACK blocks take their room from the payload: the path's MTU limits both together.
  const std::uint32_t room = mss - out.option_size;
  const std::uint64_t data_end = queue.end();
  const auto data = static_cast<std::uint32_t>(
      position < data_end ? std::min<std::uint64_t>({size, data_end - position, cut ? size : room}) : 0);
  out.payload_size = queue.gather(position, data, out);
  out.segment_size = static_cast<std::uint16_t>(out.payload_size > room ? room : 0);
  const std::uint64_t reached = position + out.payload_size;
  if (fin_queued && reached == data_end && position + size > data_end) {
    out.flags |= flag::fin;
  }
  if (out.payload_size > 0 && reached == data_end) {
    out.flags |= flag::psh;
  }
  out.window = announce_window();
}

// RFC 9293 §3.10.7.1.
std::optional<SegmentOut> reset_for(const SegmentIn& segment) {
  if ((segment.flags & flag::rst) != 0) {
    return std::nullopt;
  }
  SegmentOut out;
  out.source_port = segment.destination_port;
  out.destination_port = segment.source_port;
  if ((segment.flags & flag::ack) != 0) {
    out.flags = flag::rst;
    out.seq = segment.ack;
  } else {
    out.flags = flag::rst | flag::ack;
    const std::uint32_t length = segment.payload.size + ((segment.flags & flag::syn) != 0 ? 1u : 0u) +
                                 ((segment.flags & flag::fin) != 0 ? 1u : 0u);
    out.ack = segment.seq + length;
  }
  return out;
}

}  // namespace tfabric::stack
