// Segments that leave: what to send next, and when not (RFC 9293 §3.8, RFC 6675 §5, RFC 7323).
#include <algorithm>
#include <cassert>

#include "transport/tcp/stack/connection_impl.h"

namespace tfabric::stack {
namespace {

void put8(SegmentOut& out, unsigned value) { out.options[out.option_size++] = static_cast<std::byte>(value); }
void put16(SegmentOut& out, unsigned value) {
  put8(out, value >> 8 & 0xff);
  put8(out, value & 0xff);
}
void put32(SegmentOut& out, std::uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xffff);
}

// RFC 7323 §5.4 asks for a clock of 1 ms to 1 s a tick.
std::uint32_t timestamp(Instant now) {
  return static_cast<std::uint32_t>(now.time_since_epoch() / std::chrono::milliseconds(1));
}

constexpr std::uint32_t kSackThreshold = 2;  // segments: RFC 6675 §4, DupThresh - 1

}  // namespace

std::uint64_t Connection::Impl::lost_edge() const {
  switch (recovery) {
    case Recovery::timeout:
      return recover;
    case Recovery::fast: {
      const std::uint64_t first = std::min(snd_una + effective_mss(), snd_nxt);
      return sack ? std::max(first, scoreboard.lost_edge(snd_una, std::uint64_t{kSackThreshold} * mss))
                  : first;
    }
    case Recovery::none:
      return sack ? scoreboard.lost_edge(snd_una, std::uint64_t{kSackThreshold} * mss) : snd_una;
  }
  return snd_una;
}

// RFC 6675 §4: bytes that are thought to be on their way.
std::uint64_t Connection::Impl::pipe() const {
  const std::uint64_t edge = lost_edge();
  std::uint64_t bytes = scoreboard.missing(edge, snd_nxt);
  if (recovery != Recovery::none) {
    bytes += scoreboard.missing(snd_una, std::min(high_rxt, edge));
  }
  if (!sack) {
    // Each duplicate ACK says that a segment has left the network (RFC 5681 §3.2, RFC 3042).
    const std::uint64_t left = std::uint64_t{dupacks} * effective_mss();
    bytes -= std::min(bytes, left);
  }
  return bytes;
}

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
  if (may_send_data() && emit_data(out)) {
    return true;
  }
  if (probe_now) {
    // RFC 9293 §3.8.4 and §3.8.6.1: an old sequence number, to which the peer answers with its window.
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
  out.window = 0;
  out.payload_size = 0;
}

bool Connection::Impl::emit_reset(SegmentOut& out) {
  send_reset = false;
  // The end of a connection acknowledges what we have heard of the peer (RFC 9293 §3.5.2). The answer to an
  // acknowledgement of something else has its sequence number from there and acknowledges nothing, or a peer
  // that is still in SYN-SENT would take it for the answer to its SYN.
  const bool ack = state == State::closed && rcv_nxt != Seq();
  start_header(out, ack ? flag::rst | flag::ack : flag::rst, reset_seq);
  add_timestamps(out);  // RFC 7323 §3.2
  return true;
}

bool Connection::Impl::emit_syn(SegmentOut& out) {
  send_syn = false;
  ack_now = false;
  const bool answer = state == State::syn_received;
  start_header(out, answer ? flag::syn | flag::ack : flag::syn, iss);
  put8(out, 2);  // MSS (RFC 9293 §3.7.1)
  put8(out, 4);
  put16(out, options.mss);
  // Aligned as in RFC 7323 appendix A; an option that is not there takes no room.
  const bool offer_sack = answer ? sack : options.sack;
  const bool offer_timestamps = answer ? timestamps : options.timestamps;
  if (offer_timestamps != offer_sack) {
    put16(out, 0x0101);
  }
  if (offer_sack) {
    put16(out, 0x0402);  // SACK permitted (RFC 2018 §2)
  }
  if (offer_timestamps) {
    put16(out, 0x080a);  // timestamps (RFC 7323 §3.2)
    put32(out, timestamp(now));
    put32(out, answer ? ts_recent : 0);
  }
  if (!answer || rcv_scale > 0 || snd_scale > 0) {
    put8(out, 1);
    put8(out, 3);  // window scale (RFC 7323 §2.2)
    put8(out, 3);
    put8(out, rcv_scale);
  }
  const std::uint32_t window = std::min(options.receive_buffer, 65535u);
  out.window = static_cast<std::uint16_t>(window);  // never scaled on a SYN
  if (answer) {
    rcv_adv = rcv_nxt + window;
    last_ack_sent = rcv_nxt;
  }
  syn_repeated = syn_sent_at != Instant{};
  syn_sent_at = now;
  arm_rto();
  return true;
}

void Connection::Impl::add_timestamps(SegmentOut& out) const {
  if (timestamps) {
    put16(out, 0x0101);
    put16(out, 0x080a);
    put32(out, timestamp(now));
    put32(out, ts_recent);
  }
}

void Connection::Impl::add_options(SegmentOut& out) {
  add_timestamps(out);
  if (!sack || !reassembly.has_holes()) {
    return;
  }
  std::array<SackBlock, kMaxSackBlocks> blocks;
  const std::size_t room = timestamps ? 3 : 4;
  const std::size_t count = reassembly.sack_blocks(std::span(blocks).first(room));
  if (count == 0) {
    return;
  }
  put16(out, 0x0101);
  put8(out, 5);
  put8(out, static_cast<unsigned>(2 + 8 * count));
  for (std::size_t i = 0; i < count; ++i) {
    put32(out, blocks[i].left.raw());
    put32(out, blocks[i].right.raw());
  }
}

// The window field. The right edge moves forward only in steps worth sending (RFC 9293 §3.8.6.2.2), and
// never back (§3.8.6): what the field's scale rounds off is still accepted (RFC 7323 §2.4).
std::uint16_t Connection::Impl::announce_window() {
  const std::uint64_t used = unread();
  const std::uint32_t room = receive_room();
  const auto announced = static_cast<std::uint32_t>(std::max(rcv_adv - rcv_nxt, 0));
  std::uint32_t window = announced;
  if (room > announced && room - announced >= std::min(options.receive_buffer / 4, mss)) {
    window = room;
  }
  const std::uint32_t field = std::min(window >> rcv_scale, 65535u);
  // Rounded down, the edge would seem to move back; rounded up, it moves forward by what is rounded. A
  // peer that sends byte by byte would get a window that never shrinks, so up only while there is room.
  const std::uint32_t kept = field << rcv_scale;
  const bool up = kept < announced && field < 65535u && used + kept <= options.receive_buffer;
  const std::uint32_t rounded = up ? field + 1 : field;
  rcv_adv = max(rcv_adv, rcv_nxt + (rounded << rcv_scale));
  last_ack_sent = rcv_nxt;
  ack_now = false;
  unacked_payload = 0;
  delayed_ack_at = kNever;
  return static_cast<std::uint16_t>(rounded);
}

void Connection::Impl::emit_empty(SegmentOut& out, Seq seq) {
  start_header(out, flag::ack, seq);
  add_options(out);
  out.window = announce_window();
}

bool Connection::Impl::emit_data(SegmentOut& out) {
  if (snd_una == stream_end()) {
    return false;
  }
  if (recovery != Recovery::none && emit_retransmission(out)) {
    return true;
  }
  return emit_new_data(out);
}

bool Connection::Impl::emit_retransmission(SegmentOut& out) {
  const std::uint64_t edge = std::min(lost_edge(), snd_nxt);
  Scoreboard::Block hole = scoreboard.hole_from(std::max(high_rxt, snd_una), edge);
  if (hole.left >= edge) {
    // RFC 6675 §4, NextSeg rule 3: below the highest report, though not surely lost; only if there is
    // nothing new to send.
    if (recovery != Recovery::fast || !sack || snd_nxt < stream_end() || hole.left >= scoreboard.highest()) {
      return false;
    }
    hole = scoreboard.hole_from(hole.left, scoreboard.highest());
    if (hole.left >= scoreboard.highest()) {
      return false;
    }
  }
  if (!force_retransmission && pipe() + effective_mss() > cubic.cwnd()) {
    return false;
  }
  force_retransmission = false;
  const auto size =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(hole.right - hole.left, effective_mss()));
  emit_range(out, hole.left, size);
  out.retransmission = true;
  const std::uint64_t sent = out.payload_size + ((out.flags & flag::fin) != 0 ? 1u : 0u);
  high_rxt = hole.left + sent;
  bytes_retransmitted += sent;
  if (rto_at == kNever) {
    arm_rto();
  }
  return true;
}

bool Connection::Impl::emit_new_data(SegmentOut& out) {
  const std::uint64_t end = stream_end();
  if (snd_nxt >= end) {
    return false;
  }
  if (window_blocks() && (!override_window || usable_window() == 0)) {
    set_up_persist();
    return false;
  }
  const std::uint64_t data = next_data();
  // The congestion window counts data: a FIN with none goes out when the window is full.
  if (pipe() + data > cubic.cwnd() && flight() > 0) {
    return false;
  }
  override_window = false;
  // A FIN behind a full segment goes with it.
  const bool with_fin = fin_queued && snd_nxt + data == queue.end();
  const auto size = static_cast<std::uint32_t>(std::min(data + (with_fin ? 1 : 0), usable_window()));
  const bool was_idle = flight() == 0;
  if (was_idle) {
    last_progress = now;
    cubic.on_idle();
  }
  emit_range(out, snd_nxt, size);
  snd_nxt += out.payload_size;
  if ((out.flags & flag::fin) != 0) {
    ++snd_nxt;
    state = state == State::close_wait ? State::last_ack : State::fin_wait_1;
  }
  if (!timing && recovery == Recovery::none) {
    timing = true;
    timed_end = snd_nxt;
    timed_at = now;
  }
  if (rto_at == kNever) {
    arm_rto();
  }
  persist_at = kNever;
  return true;
}

// A segment with stream bytes [position, position + size), of which our FIN may be the last.
void Connection::Impl::emit_range(SegmentOut& out, std::uint64_t position, std::uint32_t size) {
  start_header(out, flag::ack, seq_of(position));
  add_options(out);
  // SACK blocks take room that the path's MTU does not give twice.
  const std::uint32_t room = mss - out.option_size;
  const std::uint64_t data_end = queue.end();
  const auto data = static_cast<std::uint32_t>(
      position < data_end ? std::min<std::uint64_t>({size, data_end - position, room}) : 0);
  out.payload_size = queue.gather(position, data, out);
  const std::uint64_t reached = position + out.payload_size;
  if (fin_queued && reached == data_end && position + size > data_end) {
    out.flags |= flag::fin;
  }
  if (out.payload_size > 0 && reached == data_end) {
    out.flags |= flag::psh;
  }
  out.window = announce_window();
}

std::uint64_t Connection::Impl::usable_window() const {
  const std::uint64_t edge = snd_una + snd_wnd;
  return edge > snd_nxt ? edge - snd_nxt : 0;
}

std::uint64_t Connection::Impl::next_data() const {
  const std::uint64_t end = queue.end();
  return std::min<std::uint64_t>(end - std::min(snd_nxt, end), effective_mss());
}

// RFC 9293 §3.8.6.2.1: no silly pieces, unless they are all there is or half of what the peer can take.
bool Connection::Impl::window_blocks() const {
  const std::uint64_t usable = usable_window();
  return usable == 0 || (usable < next_data() && usable < max_snd_wnd / 2);
}

SendLimit Connection::Impl::send_limit() const {
  if (!synchronized() || snd_una == stream_end()) {
    return SendLimit::nothing_to_send;
  }
  return snd_nxt < stream_end() && window_blocks() ? SendLimit::peer_window : SendLimit::path;
}

// With nothing in flight, no acknowledgement will bring a better window. Of a closed one only a probe learns
// that it has opened (RFC 9293 §3.8.6.1); a small one is used after a while (§3.8.6.2.1: 0.1 to 1 s).
void Connection::Impl::set_up_persist() {
  const bool blocked =
      synchronized() && may_send_data() && flight() == 0 && snd_nxt < stream_end() && window_blocks();
  if (!blocked) {
    persist_at = kNever;
  } else if (persist_at == kNever) {
    last_progress = now;  // the user time-out counts from here, not from what was heard before a long idle
    persist_at =
        now + (snd_wnd == 0 ? rtt.rto() : std::max<Duration>(rtt.rto(), std::chrono::milliseconds(100)));
  }
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
