// Arriving segments: RFC 9293 §3.10.7, with RFC 5961 and 7323.
#include <algorithm>
#include <cassert>
#include <string>

#include "base/printable.h"
#include "transport/tcp/stack/connection_impl.h"

namespace tfabric::stack {
namespace {

// RFC 5961 §7: the most challenge ACKs a second, for each connection. A limit for all connections together
// would be unsafe: an attacker who can observe how much of it is used up learns whether two other hosts are
// connected, and at which sequence numbers (CVE-2016-5696).
constexpr std::uint32_t kChallengesPerSecond = 100;

// The text in a RST is no part of the stream.
std::uint32_t sequence_length(const SegmentIn& segment) {
  if ((segment.flags & flag::rst) != 0) {
    return 0;
  }
  return segment.payload.size + ((segment.flags & flag::syn) != 0 ? 1u : 0u) +
         ((segment.flags & flag::fin) != 0 ? 1u : 0u);
}

std::string reason_in(const Payload& payload) {
  return printable(
      {reinterpret_cast<const char*>(payload.data), std::min<std::size_t>(payload.size, kMaxReason)});
}

}  // namespace

void Connection::Impl::challenge_ack() {
  if (now - challenge_window >= std::chrono::seconds(1)) {
    challenge_window = now;
    challenges = 0;
  }
  if (challenges < kChallengesPerSecond) {
    ++challenges;
    // A half-open connection repeats its SYN-ACK (RFC 9293 §3.5.1, figure 10).
    (state == State::syn_received ? send_syn : ack_now) = true;
  }
}

void Connection::Impl::on_segment(const SegmentIn& segment, Instant at) {
  now = at;
  current = {};
  current_kept = false;
  if (state == State::closed) {
    return;
  }
  if (state == State::syn_sent) {
    on_segment_in_syn_sent(segment);
    return;
  }
  if (has(segment, flag::syn) && !has(segment, flag::rst)) {
    if (state == State::syn_received && segment.seq == irs) {
      on_repeated_syn(segment);
    } else {
      challenge_ack();  // RFC 5961 §4.2: whatever its sequence number and its timestamp
    }
    return;
  }
  if (is_next(segment)) {
    note_window(segment);
  } else if (!on_other(segment)) {
    return;
  }
  // RFC 7323 §5.3 R3, only after the checks of sequence number and acknowledgement: otherwise one forged
  // segment with a future timestamp would make us drop everything that the peer sends.
  if (timestamps && segment.seq <= last_ack_sent) {
    ts_recent = segment.ts_val;
  }
  if (keepalive_at != kNever) {
    if (now - last_heard >= options.keepalive_idle / 2) {
      give_memory_back();  // an idle connection: this is most likely the peer's probe, which comes before
                           // ours
    }
    keepalive_at = now + options.keepalive_idle;
  }
  last_heard = now;
  keepalives_unanswered = 0;
  on_payload(segment);
}

// Header prediction (V. Jacobson, "4BSD TCP header prediction", 1990): the data that come next, with nothing
// new about what we have sent. All that on_other() would do is to note the window, as it stays the same.
bool Connection::Impl::is_next(const SegmentIn& segment) const {
  return state == State::established && (segment.flags & ~flag::psh) == flag::ack && segment.seq == rcv_nxt &&
         segment.payload.size > 0 && segment.seq < rcv_adv && snd_wl1 <= segment.seq &&
         segment.ack == seq_of(snd_una) && snd_nxt == stream_end() && segment.sack_count == 0 &&
         std::uint64_t{segment.window} << snd_scale == snd_wnd && snd_wnd != 0 &&
         (!timestamps || (segment.has_timestamps && !timestamp_before(segment.ts_val, ts_recent)));
}

// The checks and the acknowledgement of a segment that is not predicted. Returns false if nothing is left to
// do.
bool Connection::Impl::on_other(const SegmentIn& segment) {
  if (!passes_timestamps(segment) || !acceptable(segment)) {
    return false;
  }
  if (has(segment, flag::rst)) {
    on_reset(segment);
    return false;
  }
  return has(segment, flag::ack) && on_ack(segment);
}

// RFC 7323 §5: PAWS.
bool Connection::Impl::passes_timestamps(const SegmentIn& segment) {
  if (!timestamps || has(segment, flag::rst)) {
    return true;
  }
  if (!segment.has_timestamps) {
    return false;  // RFC 7323 §3.2
  }
  const auto age = static_cast<std::int32_t>(segment.ts_val - ts_recent);
  if (age < 0) {
    answer_unacceptable(segment);
    return false;
  }
  return true;
}

// The sender of the segment does not know what we have received: acknowledge. Data is exempt from the limit
// of challenge ACKs, because its sender could not go on without an answer. An empty segment is not exempt,
// because two ends that find each other's ACKs unacceptable would exchange them at the speed of the wire.
void Connection::Impl::answer_unacceptable(const SegmentIn& segment) {
  if (sequence_length(segment) == 0) {
    challenge_ack();
    return;
  }
  ack_now = true;
  if (state == State::fin_wait_2) {
    restart_fin_wait_2();  // the peer is alive and retransmits, because our answers are lost
  }
}

// RFC 9293 §3.10.7.4, first check. An unacceptable segment is answered by an ACK.
bool Connection::Impl::acceptable(const SegmentIn& segment) {
  const std::uint32_t length = sequence_length(segment);
  const bool zero_window = rcv_adv <= rcv_nxt;
  bool good = false;
  if (length == 0) {
    good = zero_window ? segment.seq == rcv_nxt : rcv_nxt <= segment.seq && segment.seq <= rcv_adv;
  } else {
    const Seq end = segment.seq + length;
    good = end > rcv_nxt && (zero_window ? segment.seq <= rcv_nxt : segment.seq < rcv_adv);
  }
  if (good) {
    return true;
  }
  if (has(segment, flag::rst)) {
    return false;
  }
  // An old segment may still carry an acknowledgement that was lost elsewhere. A segment beyond our window is
  // not the peer's: its sequence number, in snd_wl1, would make us ignore the windows that the peer
  // announces.
  if (has(segment, flag::ack) && segment.seq < rcv_nxt && state != State::syn_received) {
    on_ack(segment);
    last_heard = now;
    keepalives_unanswered = 0;
  }
  if (state == State::time_wait && has(segment, flag::fin) && segment.seq + segment.payload.size == fin_seq) {
    start_time_wait();  // RFC 9293 §3.10.7.4: our acknowledgement of the FIN was lost
  }
  if (state != State::closed) {
    if (length > 0 && segment.seq < rcv_nxt) {
      path_doubt.on_sign(now);
    }
    if (segment.payload.size > 0 && segment.seq < rcv_nxt) {
      note_duplicate(segment.seq, segment.seq + segment.payload.size);
    }
    answer_unacceptable(segment);
  }
  return false;
}

// [left, right) has arrived twice. An acknowledgement has room for one report; adjacent duplicates are
// joined.
void Connection::Impl::note_duplicate(Seq left, Seq right) {
  if (duplicate && duplicate->right == left) {
    duplicate->right = right;
  } else if (!duplicate) {
    duplicate = SackBlock{left, right};
  }
}

// RFC 5961 §3.2. Besides the next sequence number, the end of everything that has arrived is accepted, since
// only the peer knows it: a peer that aborts while segments are missing here sends its reset there, and
// cannot answer our challenge.
void Connection::Impl::on_reset(const SegmentIn& segment) {
  const bool at_end = reassembly.has_holes() && segment.seq == reassembly.last_end();
  if (segment.seq != rcv_nxt && !at_end) {
    challenge_ack();
    return;
  }
  switch (state) {
    case State::closing:
    case State::last_ack:
    case State::time_wait:
      end(ConnectionError::none);
      break;
    default:
      reason = reason_in(segment.payload);
      end(ConnectionError::reset);
      break;
  }
}

void Connection::Impl::take_mark(const SegmentIn& segment) {
  const bool before = ecn.echo();
  if (!ecn.on_data(segment.congestion_experienced, has(segment, flag::cwr))) {
    return;
  }
  if (unacked_payload > 0 && !earlier_ack) {
    earlier_ack = EarlierAck{.ack = rcv_nxt, .ece = before};
  }
  ack_now = true;
}

void Connection::Impl::note_fin(const SegmentIn& segment) {
  if (has(segment, flag::fin) && !fin_known) {
    fin_known = true;
    fin_seq = segment.seq + segment.payload.size;
  }
  if (state == State::fin_wait_2 && sequence_length(segment) > 0) {
    restart_fin_wait_2();
  }
  if (has(segment, flag::fin) && segment.seq > rcv_nxt) {
    ack_now = true;  // RFC 5681 §4.2, for a FIN without data too
  }
}

// Cuts off what has arrived before and what lies beyond the window. Returns false if nothing is left.
bool Connection::Impl::trim(Seq& seq, Payload& payload) {
  if (seq < rcv_nxt) {
    const auto old = static_cast<std::uint32_t>(rcv_nxt - seq);
    note_duplicate(seq, seq + std::min(old, payload.size));
    if (old >= payload.size) {
      return false;
    }
    payload.data += old;
    payload.size -= old;
    seq = rcv_nxt;
    ack_now = true;
  }
  // Nothing follows a FIN: if such bytes were taken, rcv_nxt would pass the FIN without noticing it.
  const std::int32_t room = (fin_known ? min(rcv_adv, fin_seq) : rcv_adv) - seq;
  if (room <= 0) {
    return false;
  }
  payload.size = std::min(payload.size, static_cast<std::uint32_t>(room));
  return true;
}

void Connection::Impl::keep_out_of_order(Seq seq, const Payload& payload) {
  ++out_of_order;
  ack_now = true;  // RFC 5681 §4.2: at once
  std::optional<SackBlock> twice;
  current_kept = keeps_out_of_order && reassembly.insert(seq, payload, twice);
  if (twice) {
    note_duplicate(twice->left, twice->right);
  }
}

void Connection::Impl::take_in_order(const Payload& payload) {
  path_doubt.on_progress(now);
  unacked_payload += payload.size;
  const bool holds = options.held_ack_bytes > 0;
  const bool much = holds
                        ? unacked_payload >= options.held_ack_bytes ||
                              rcv_adv - (rcv_nxt + payload.size) < static_cast<std::int32_t>(unacked_payload)
                        : options.delayed_ack == Duration::zero() || unacked_payload >= 2 * mss;
  if (much || reassembly.has_holes()) {
    ack_now = true;
  } else if (holds) {
    ack_held = true;
  } else if (delayed_ack_at == kNever) {
    delayed_ack_at = now + options.delayed_ack;
  }
  if (reassembly.queue_empty() && !reassembly.has_holes()) {
    // The usual case: the owner reads the bytes where they are, and they are kept only if it does not consume
    // them.
    current = payload;
    rcv_nxt += payload.size;
    bytes_received += payload.size;
    return;
  }
  if (reassembly.append(payload)) {
    current_kept = true;
    const Seq before = rcv_nxt;
    std::optional<SackBlock> twice;
    rcv_nxt = reassembly.advance(rcv_nxt + payload.size, twice);
    if (twice) {
      note_duplicate(twice->left, twice->right);
    }
    bytes_received += static_cast<std::uint32_t>(rcv_nxt - before);
  }
}

void Connection::Impl::on_payload(const SegmentIn& segment) {
  note_fin(segment);
  if (segment.payload.size == 0 || peer_fin) {
    return;
  }
  take_mark(segment);
  share.on_data(now);
  Seq seq = segment.seq;
  Payload payload = segment.payload;
  if (!trim(seq, payload)) {
    ack_now = true;
  } else if (seq > rcv_nxt) {
    keep_out_of_order(seq, payload);
  } else {
    take_in_order(payload);
  }
}

bool Connection::Impl::settle() {
  if (current.size > 0 && state != State::closed) {
    if (reassembly.append(current)) {
      current_kept = true;
    } else {
      // Without memory, these bytes count as not arrived. They are not acknowledged yet.
      rcv_nxt = rcv_nxt - current.size;
      bytes_received -= current.size;
    }
  }
  current = {};
  if (fin_known && !peer_fin && state != State::closed && rcv_nxt >= fin_seq) {
    on_peer_fin();
  }
  return current_kept;
}

}  // namespace tfabric::stack
