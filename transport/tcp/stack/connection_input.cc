// Segments that arrive: RFC 9293 §3.10.7, with RFC 5961 and 7323.
#include <algorithm>
#include <cassert>

#include "transport/tcp/stack/connection_impl.h"

namespace tfabric::stack {
namespace {

// RFC 5961 §7: challenge ACKs a second and connection. There is no limit for all connections together: who
// can read from outside how much of it is used up learns whether two others talk, and where in their stream
// they are (CVE-2016-5696).
constexpr std::uint32_t kChallengesPerSecond = 100;

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
  mss = std::clamp<std::uint32_t>(segment.mss == 0 ? kDefaultMss : segment.mss, kLeastMss, options.mss);
  path_mtu.start(mss);
  congestion =
      make_congestion_control(options.congestion, mss, std::uint64_t{options.initial_window_segments} * mss);
  // RFC 3168 §6.1.1.
  const std::uint8_t bits = segment.flags & (flag::ece | flag::cwr);
  const bool agreed = has(segment, flag::ack) ? bits == flag::ece : bits == (flag::ece | flag::cwr);
  if (ask_ecn && agreed) {
    ecn.enable(/*each_mark=*/options.congestion == CongestionAlgorithm::dctcp);
  }
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
    // A half-open connection answers by what it has said already (RFC 9293 §3.5.1, figure 10).
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
      challenge_ack();  // RFC 5961 §4.2: whatever its sequence number, and its timestamp
    }
    return;
  }
  if (!passes_timestamps(segment) || !acceptable(segment)) {
    return;
  }
  if (has(segment, flag::rst)) {
    on_reset(segment);
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
  if (keepalive_at != kNever) {
    if (now - last_heard >= options.keepalive_idle / 2) {
      give_memory_back();  // the peer's probe, most likely, which comes before ours
    }
    keepalive_at = now + options.keepalive_idle;
  }
  last_heard = now;
  keepalives_unanswered = 0;
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
    return;
  }
  ack_now = true;
  if (state == State::fin_wait_2) {
    restart_fin_wait_2();  // a peer that repeats itself has not fallen silent: it is our answers that are
                           // lost
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
  // An old segment may still carry the only news of an acknowledgement that was lost. What lies beyond our
  // window is not the peer's: its sequence number would make us deaf to the windows that the peer announces
  // (snd_wl1).
  if (has(segment, flag::ack) && segment.seq < rcv_nxt && state != State::syn_received) {
    on_ack(segment);
    last_heard = now;
    keepalives_unanswered = 0;
  }
  if (state == State::time_wait && has(segment, flag::fin) && segment.seq + segment.payload.size == fin_seq) {
    start_time_wait();  // RFC 9293 §3.10.7.4: our acknowledgement of it was lost
  }
  if (state != State::closed) {
    if (segment.payload.size > 0 && segment.seq < rcv_nxt) {
      note_duplicate(segment.seq, segment.seq + segment.payload.size);
    }
    answer_unacceptable(segment);
  }
  return false;
}

// [left, right) has arrived twice. Between two acknowledgements there is room for one report; duplicates
// that follow each other become one.
void Connection::Impl::note_duplicate(Seq left, Seq right) {
  if (duplicate && duplicate->right == left) {
    duplicate->right = right;
  } else if (!duplicate) {
    duplicate = SackBlock{left, right};
  }
}

// RFC 5961 §3.2. Besides the next number, the end of all that has arrived is one that only the peer knows:
// that of a peer which aborts while something is missing here, and which will not be there to answer our
// challenge.
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

void Connection::Impl::on_payload(const SegmentIn& segment) {
  if (has(segment, flag::fin) && !fin_known) {
    fin_known = true;
    fin_seq = segment.seq + segment.payload.size;
  }
  if (state == State::fin_wait_2 && sequence_length(segment) > 0) {
    restart_fin_wait_2();
  }
  if (has(segment, flag::fin) && segment.seq > rcv_nxt) {
    ack_now = true;  // RFC 5681 §4.2, of a FIN without data too
  }
  if (segment.payload.size == 0 || peer_fin) {
    return;
  }
  take_mark(segment);
  share.on_data(now);
  Seq seq = segment.seq;
  Payload payload = segment.payload;
  if (seq < rcv_nxt) {
    const auto old = static_cast<std::uint32_t>(rcv_nxt - seq);
    note_duplicate(seq, seq + std::min(old, payload.size));
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
  if (seq > rcv_nxt) {
    ++out_of_order;
    ack_now = true;  // RFC 5681 §4.2: at once
    std::optional<SackBlock> twice;
    current_kept = keeps_out_of_order && reassembly.insert(seq, payload, twice);
    if (twice) {
      note_duplicate(twice->left, twice->right);
    }
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
    std::optional<SackBlock> twice;
    rcv_nxt = reassembly.advance(rcv_nxt + payload.size, twice);
    if (twice) {
      note_duplicate(twice->left, twice->right);
    }
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
