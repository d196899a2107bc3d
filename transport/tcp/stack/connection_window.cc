// Flow control: the window that we announce, and what the peer's window allows (RFC 9293 §3.8.6, RFC 7323
// §2).
#include <algorithm>

#include "transport/tcp/stack/connection_impl.h"

namespace tfabric::stack {

// --- the window that we announce

// Returns the window field. The right edge moves forward only in steps that are worth sending (RFC 9293
// §3.8.6.2.2), and never back (§3.8.6): bytes that the field's scale rounds off are still accepted (RFC 7323
// §2.4).
std::uint16_t Connection::Impl::announce_window() {
  const std::uint32_t room = receive_room();
  const auto announced = static_cast<std::uint32_t>(std::max(rcv_adv - rcv_nxt, 0));
  std::uint32_t window = announced;
  if (room > announced && room - announced >= std::min(options.receive_buffer / 4, mss)) {
    window = room;
  }
  const std::uint16_t field = window_field(rcv_nxt, window);
  last_ack_sent = rcv_nxt;
  ack_now = ack_held = false;
  unacked_payload = 0;
  delayed_ack_at = kNever;
  return field;
}

// Returns the field for a window of this many bytes from `ack` on, and records it as announced.
std::uint16_t Connection::Impl::window_field(Seq ack, std::uint32_t window) {
  const std::uint32_t field = std::min(window >> rcv_scale, 65535u);
  // If the field is rounded down, the edge seems to move back; if it is rounded up, the edge moves forward. A
  // peer that sends byte by byte would then get a window that never shrinks, so it is rounded up only while
  // there is room.
  const std::uint32_t kept = field << rcv_scale;
  const auto announced = static_cast<std::uint32_t>(std::max(rcv_adv - ack, 0));
  const auto arrived = static_cast<std::uint32_t>(rcv_nxt - ack);
  const bool up = kept < announced && field < 65535u && unread() + kept <= receive_limit() + arrived;
  const std::uint32_t rounded = up ? field + 1 : field;
  rcv_adv = max(rcv_adv, ack + (rounded << rcv_scale));
  return static_cast<std::uint16_t>(rounded);
}

// --- the peer's window

SendLimit Connection::Impl::send_limit() const {
  if (!synchronized() || snd_una == stream_end()) {
    return SendLimit::nothing_to_send;
  }
  if (snd_nxt < stream_end() && window_blocks()) {
    return SendLimit::peer_window;
  }
  const bool all_sent = snd_nxt == stream_end() && segments.lost_bytes() == 0;
  return all_sent ? SendLimit::acknowledgements : SendLimit::network;
}

// With nothing in flight, no acknowledgement will bring a larger window. A closed window is probed (RFC 9293
// §3.8.6.1); a small one is used after a while (§3.8.6.2.1: 0.1 to 1 s).
void Connection::Impl::set_up_persist() {
  const bool blocked =
      synchronized() && may_send_data() && flight() == 0 && snd_nxt < stream_end() && window_blocks();
  if (!blocked) {
    persist_at = kNever;
  } else if (persist_at == kNever) {
    persist_at =
        now + (snd_wnd == 0 ? rtt.rto() : std::max<Duration>(rtt.rto(), std::chrono::milliseconds(100)));
  }
}

}  // namespace tfabric::stack
