// The handshake: SYNs that arrive and leave, and the options that they agree on (RFC 9293 §3.5 and
// §3.10.7.3).
#include <algorithm>

#include "transport/tcp/stack/connection_impl.h"

namespace tfabric::stack {

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

// RFC 9293 §3.10.7.3.
void Connection::Impl::on_segment_in_syn_sent(const SegmentIn& segment) {
  const bool acks_syn = has(segment, flag::ack) && segment.ack == iss + 1;
  if (has(segment, flag::ack) && !acks_syn) {
    if (!has(segment, flag::rst)) {
      send_reset = true;  // it belongs to an old connection; ours goes on
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

// In SYN-RECEIVED, the SYN that has opened the connection arrives again.
void Connection::Impl::on_repeated_syn(const SegmentIn& segment) {
  if (!has(segment, flag::ack) || segment.ack != iss + 1) {
    send_syn = true;  // our SYN-ACK was lost
    return;
  }
  // Simultaneous open (RFC 9293 §3.5, figure 8): both ends answer a SYN with a SYN-ACK, which ends the
  // handshake. If it were answered by another SYN-ACK, the two ends would never stop.
  become_established();
  snd_wnd = max_snd_wnd = segment.window;  // not scaled on a SYN
  snd_wl1 = segment.seq;
  snd_wl2 = segment.ack;
  ack_now = true;
}

void Connection::Impl::become_established() {
  state = State::established;
  send_syn = false;  // a retransmission may have been due
  connect_at = kNever;
  rto_at = kNever;
  if (!syn_repeated && now > syn_sent_at) {  // without a step of the clock there is no measurement
    rtt.on_sample(now - syn_sent_at);
    min_rtt.on_sample(now - syn_sent_at, now);
  }
  rtt.reset_backoff();
  last_progress = last_heard = now;
  path_doubt.on_progress(now);
  keepalive_at = options.keepalive_idle > Duration::zero() ? now + options.keepalive_idle : kNever;
}

bool Connection::Impl::emit_syn(SegmentOut& out) {
  send_syn = false;
  ack_now = ack_held = false;
  const bool answer = state == State::syn_received;
  start_header(out, answer ? flag::syn | flag::ack : flag::syn, iss);
  if (answer ? ecn.enabled() : ask_ecn) {
    out.flags |= answer ? flag::ece : flag::ece | flag::cwr;  // RFC 3168 §6.1.1
  }
  put_syn_options(out, {.mss = options.mss,
                        .sack = answer ? sack : options.sack,
                        .timestamps = answer ? timestamps : options.timestamps,
                        .ts_val = timestamp(now),
                        .ts_ecr = answer ? ts_recent : 0,
                        .window_scale = !answer || rcv_scale > 0 || snd_scale > 0 ? rcv_scale : -1});
  const std::uint32_t window = std::min(receive_limit(), 65535u);
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

}  // namespace tfabric::stack
