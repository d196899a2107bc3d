// Segments that arrive: RFC 9293 §3.10.7, with RFC 5961, 7323, 2018 and 6675.
#include <algorithm>
#include <cassert>

#include "transport/tcp/stack/connection_impl.h"

namespace tfabric::stack {
namespace {

// RFC 5961 §7: challenge ACKs a second and connection.
constexpr std::uint32_t kChallengesPerSecond = 100;
constexpr std::uint32_t kDupThresh = 3;  // RFC 5681 §2

std::uint32_t sequence_length(const SegmentIn& segment) {
  return segment.payload.size + ((segment.flags & flag::syn) != 0 ? 1u : 0u) +
         ((segment.flags & flag::fin) != 0 ? 1u : 0u);
}

bool has(const SegmentIn& segment, std::uint8_t bit) { return (segment.flags & bit) != 0; }

}  // namespace

void Connection::Impl::take_syn_options(const SegmentIn& segment) {
  irs = segment.seq;
  rcv_nxt = irs + 1;
  rcv_adv = rcv_nxt;
  last_ack_sent = rcv_nxt;
  constexpr std::uint32_t kDefaultMss = 536;  // RFC 9293 §3.7.1
  mss = std::clamp<std::uint32_t>(segment.mss == 0 ? kDefaultMss : segment.mss, kLeastMss, options.mss);
  cubic = Cubic(mss, std::uint64_t{options.initial_window_segments} * mss);
  timestamps = options.timestamps && segment.has_timestamps;
  ts_recent = segment.ts_val;
  sack = options.sack && segment.sack_permitted;
  if (segment.window_scale >= 0) {
    snd_scale = static_cast<std::uint8_t>(segment.window_scale);
  } else {
    snd_scale = rcv_scale = 0;  // RFC 7323 §2.2: both or none
  }
  snd_wnd = max_snd_wnd = segment.window;  // not scaled on a SYN
  snd_wl1 = segment.seq;
  snd_wl2 = segment.ack;
}

void Connection::Impl::challenge_ack() {
  if (now - challenge_window >= std::chrono::seconds(1)) {
    challenge_window = now;
    challenges = 0;
  }
  if (challenges < kChallengesPerSecond) {
    ++challenges;
    ack_now = true;
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
  if (state == State::syn_received && has(segment, flag::syn) && !has(segment, flag::rst) &&
      segment.seq == irs) {
    on_repeated_syn(segment);
    return;
  }
  if (!passes_timestamps(segment) || !acceptable(segment)) {
    return;
  }
  if (has(segment, flag::rst)) {
    on_reset(segment);
    return;
  }
  if (has(segment, flag::syn)) {
    challenge_ack();  // RFC 5961 §4.2
    return;
  }
  if (!has(segment, flag::ack) || !on_ack(segment)) {
    return;
  }
  // RFC 7323 §5.3 R3, after the checks of sequence number and acknowledgement: or one forged segment with a
  // time of the future would make us drop all that the peer sends.
  if (timestamps && segment.seq <= last_ack_sent) {
    ts_recent = segment.ts_val;
  }
  last_heard = now;
  keepalives_unanswered = 0;
  if (keepalive_at != kNever) {
    keepalive_at = now + options.keepalive_idle;
  }
  on_payload(segment);
}

// RFC 9293 §3.10.7.3.
void Connection::Impl::on_segment_in_syn_sent(const SegmentIn& segment) {
  const bool acks_syn = has(segment, flag::ack) && segment.ack == iss + 1;
  if (has(segment, flag::ack) && !acks_syn) {
    if (!has(segment, flag::rst)) {
      send_reset = true;  // an old duplicate's connection; ours goes on
      reset_seq = segment.ack;
    }
    return;
  }
  if (has(segment, flag::rst)) {
    if (acks_syn) {
      end(ConnectionError::refused);
    }
    return;
  }
  if (!has(segment, flag::syn)) {
    return;
  }
  take_syn_options(segment);
  if (acks_syn) {
    become_established();
    ack_now = true;
  } else {
    state = State::syn_received;  // simultaneous open
    send_syn = true;
  }
}

// In SYN-RECEIVED, the SYN that we have heard already.
void Connection::Impl::on_repeated_syn(const SegmentIn& segment) {
  if (!has(segment, flag::ack) || segment.ack != iss + 1) {
    send_syn = true;  // our SYN-ACK was lost
    return;
  }
  // Simultaneous open (RFC 9293 §3.5, figure 8): both ends answer a SYN with a SYN-ACK, and each of these
  // ends the handshake. Were it answered by one more SYN-ACK, the two ends would never stop.
  become_established();
  snd_wnd = max_snd_wnd = segment.window;  // not scaled on a SYN
  snd_wl1 = segment.seq;
  snd_wl2 = segment.ack;
  ack_now = true;
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

// Whoever sends this does not know what we have: tell. Data is exempt from the limit of challenge ACKs, or
// its sender would be stranded; an empty segment is not, or two ends that find each other's ACKs
// unacceptable would exchange them at the speed of the wire.
void Connection::Impl::answer_unacceptable(const SegmentIn& segment) {
  if (sequence_length(segment) == 0) {
    challenge_ack();
  } else {
    ack_now = true;
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
  // An old segment may still carry the only news of an acknowledgement that was lost. Not so a SYN-ACK,
  // whose window is not scaled; and what lies beyond our window is not the peer's: its sequence number
  // would make us deaf to the windows that the peer announces (snd_wl1).
  if (has(segment, flag::ack) && !has(segment, flag::syn) && segment.seq < rcv_nxt &&
      state != State::syn_received) {
    on_ack(segment);
    last_heard = now;
    keepalives_unanswered = 0;
  }
  if (state == State::time_wait && has(segment, flag::fin) && segment.seq + segment.payload.size == fin_seq) {
    start_time_wait();  // RFC 9293 §3.10.7.4: our acknowledgement of it was lost
  }
  if (state != State::closed) {
    answer_unacceptable(segment);
  }
  return false;
}

// RFC 5961 §3.2.
void Connection::Impl::on_reset(const SegmentIn& segment) {
  if (segment.seq != rcv_nxt) {
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
      end(ConnectionError::reset);
      break;
  }
}

// The acknowledgement and window of a segment. False: the segment is to be dropped.
bool Connection::Impl::on_ack(const SegmentIn& segment) {
  if (state == State::syn_received) {
    if (segment.ack - (iss + 1) < 0 || segment.ack > seq_of(snd_nxt)) {
      send_reset = true;
      reset_seq = segment.ack;
      return false;
    }
    become_established();
    snd_wnd = std::uint64_t{segment.window} << snd_scale;
    snd_wl1 = segment.seq;
    snd_wl2 = segment.ack;
  }
  const std::int64_t delta = segment.ack - seq_of(snd_una);
  if (delta > static_cast<std::int64_t>(snd_nxt - snd_una)) {
    challenge_ack();  // acknowledges what we have not sent
    return false;
  }
  if (delta < -static_cast<std::int64_t>(std::max<std::uint64_t>(max_snd_wnd, 65536))) {
    challenge_ack();  // RFC 5961 §5.2: too old to be true
    return false;
  }
  const std::uint64_t window_before = snd_wnd;
  if (delta >= 0) {
    update_send_window(segment);
  }
  const bool sack_news = sack && segment.sack_count > 0 && take_sack(segment);
  if (delta > 0) {
    const bool window_limited = flight() * 2 >= cubic.cwnd();
    on_new_ack(snd_una + static_cast<std::uint64_t>(delta), window_limited);
  } else if (delta == 0 && flight() > 0 && segment.payload.size == 0 && !has(segment, flag::fin) &&
             (sack ? sack_news : snd_wnd == window_before)) {
    on_duplicate_ack();
  }
  set_up_persist();
  return state != State::closed;
}

void Connection::Impl::update_send_window(const SegmentIn& segment) {
  // RFC 9293 §3.10.7.4: from the newest segment only. One that acknowledges something new is newer than
  // all before it, even if it is a retransmission with an old sequence number: snd_una moves with it, and
  // the old window on top of the new snd_una would reach beyond the edge that the peer has announced.
  if (segment.ack > seq_of(snd_una) || snd_wl1 < segment.seq ||
      (snd_wl1 == segment.seq && snd_wl2 <= segment.ack)) {
    if (snd_wnd == 0 && segment.window != 0) {
      last_progress = now;  // the user time-out begins anew
    }
    snd_wnd = std::uint64_t{segment.window} << snd_scale;
    max_snd_wnd = std::max(max_snd_wnd, snd_wnd);
    snd_wl1 = segment.seq;
    snd_wl2 = segment.ack;
  }
}

bool Connection::Impl::take_sack(const SegmentIn& segment) {
  bool news = false;
  for (std::size_t i = 0; i < segment.sack_count; ++i) {
    const std::int64_t left = segment.sack[i].left - seq_of(snd_una);
    const std::int64_t right = segment.sack[i].right - seq_of(snd_una);
    // Outside of what is in flight: a D-SACK (RFC 2883), or nonsense.
    if (left < 0 || right <= left || right > static_cast<std::int64_t>(flight())) {
      continue;
    }
    news |= scoreboard.add(snd_una + static_cast<std::uint64_t>(left),
                           snd_una + static_cast<std::uint64_t>(right));
  }
  return news;
}

void Connection::Impl::on_new_ack(std::uint64_t position, bool window_limited) {
  const std::uint64_t acked = position - snd_una;
  const std::uint64_t before = window_limited ? flight() : 0;
  snd_una = position;
  queue.release(std::min(snd_una, queue.end()));
  scoreboard.release(snd_una);
  high_rxt = std::max(high_rxt, snd_una);
  if (timing && snd_una >= timed_end) {
    timing = false;
    rtt.on_sample(now - timed_at);
  }
  rtt.reset_backoff();
  persist_backoff = 0;
  last_progress = now;
  if (flight() == 0) {
    rto_at = kNever;
  } else {
    arm_rto();
  }
  update_recovery(acked, before);
  if (fin_queued && snd_una == fin_position() + 1) {
    on_fin_acked();
  }
}

void Connection::Impl::on_duplicate_ack() {
  ++dupacks;
  if (recovery == Recovery::none && (dupacks >= kDupThresh || (sack && lost_edge() > snd_una))) {
    enter_fast_recovery();
  }
}

void Connection::Impl::enter_fast_recovery() {
  ++fast_retransmits;
  recovery = Recovery::fast;
  recover = snd_nxt;
  high_rxt = snd_una;
  force_retransmission = true;
  timing = false;
  cubic.on_loss(flight());
}

void Connection::Impl::update_recovery(std::uint64_t acked, std::uint64_t flight_before) {
  switch (recovery) {
    case Recovery::none:
      dupacks = 0;
      if (sack && lost_edge() > snd_una) {
        enter_fast_recovery();
      } else if (flight_before > 0) {
        cubic.on_ack(acked, rtt.srtt(), now);
      }
      return;
    case Recovery::fast:
      if (snd_una >= recover) {
        recovery = Recovery::none;
        dupacks = 0;
      } else if (!sack) {
        // RFC 6582 §3.2: a partial acknowledgement names the next hole.
        dupacks = 0;
        high_rxt = snd_una;
        force_retransmission = true;
      }
      return;
    case Recovery::timeout:
      cubic.on_ack(acked, rtt.srtt(), now);
      if (snd_una >= recover) {
        recovery = Recovery::none;
        dupacks = 0;
      }
      return;
  }
}

void Connection::Impl::on_payload(const SegmentIn& segment) {
  if (has(segment, flag::fin) && !fin_known) {
    fin_known = true;
    fin_seq = segment.seq + segment.payload.size;
  }
  if (segment.payload.size == 0 || peer_fin) {
    return;
  }
  Seq seq = segment.seq;
  Payload payload = segment.payload;
  if (seq < rcv_nxt) {
    const auto old = static_cast<std::uint32_t>(rcv_nxt - seq);
    if (old >= payload.size) {
      ack_now = true;
      return;
    }
    payload.data += old;
    payload.size -= old;
    seq = rcv_nxt;
    ack_now = true;
  }
  // Nothing follows a FIN; were it taken, rcv_nxt would pass the FIN without seeing it.
  const std::int32_t room = (fin_known ? min(rcv_adv, fin_seq) : rcv_adv) - seq;
  if (room <= 0) {
    ack_now = true;
    return;
  }
  payload.size = std::min(payload.size, static_cast<std::uint32_t>(room));
  if (state == State::fin_wait_2) {
    restart_fin_wait_2();
  }
  if (seq > rcv_nxt) {
    ++out_of_order;
    ack_now = true;  // RFC 5681 §4.2: at once
    current_kept = reassembly.insert(seq, payload);
    return;
  }
  unacked_payload += payload.size;
  if (options.delayed_ack == Duration::zero() || reassembly.has_holes() || unacked_payload >= 2 * mss) {
    ack_now = true;
  } else if (delayed_ack_at == kNever) {
    delayed_ack_at = now + options.delayed_ack;
  }
  if (reassembly.queue_empty() && !reassembly.has_holes()) {
    // The usual case: shown to the owner where it is, and kept only if it is not consumed.
    current = payload;
    rcv_nxt += payload.size;
    bytes_received += payload.size;
    return;
  }
  if (reassembly.append(payload)) {
    current_kept = true;
    const Seq before = rcv_nxt;
    rcv_nxt = reassembly.advance(rcv_nxt + payload.size);
    bytes_received += static_cast<std::uint32_t>(rcv_nxt - before);
  }
}

bool Connection::Impl::settle() {
  if (current.size > 0 && state != State::closed) {
    if (reassembly.append(current)) {
      current_kept = true;
    } else {
      // No memory: as if these bytes had not come. Nothing has acknowledged them yet.
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
