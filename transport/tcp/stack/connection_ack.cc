// What an acknowledgement reports: windows, SACK and D-SACK (RFC 2018, 2883), round-trip times. What follows
// from it for the repair of losses is in connection_recovery.cc.
#include <algorithm>

#include "transport/tcp/stack/connection_impl.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {

// Takes the acknowledgement and window of a segment. Returns false if the segment has to be dropped.
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
    challenge_ack();  // it acknowledges data that we have not sent
    return false;
  }
  if (delta < -static_cast<std::int64_t>(std::max<std::uint64_t>(max_snd_wnd, 65536))) {
    challenge_ack();  // RFC 5961 §5.2: too old for a correct peer
    return false;
  }
  const std::uint64_t window_before = snd_wnd;
  if (delta >= 0) {
    update_send_window(segment);
  }
  AckNews news;
  news.flight_before = flight();
  news.ece = (segment.flags & flag::ece) != 0;
  if (timestamps) {
    news.ts_ecr = segment.ts_ecr;
  }
  const bool empty = segment.payload.size == 0 && (segment.flags & flag::fin) == 0;
  if (delta > 0) {
    on_new_ack(snd_una + static_cast<std::uint64_t>(delta), news);
  } else if (delta == 0 && flight() > 0 && empty) {
    news.duplicate = segment.sack_count == 0 && snd_wnd == window_before;
  }
  if (news.acked == 0) {
    news.validated = validation.validated(news.flight_before, congestion->cwnd());
  }
  // After the acknowledged segments, or they would look reordered (RFC 8985 §6.2 step 3: in ascending order).
  if (sack && segment.sack_count > 0) {
    take_sack(segment, news);
  }
  if (news.delivered > 0) {
    timeouts_in_row = 0;
  }
  if (news.anything()) {
    repair(news);
  }
  if (fin_queued && snd_una == fin_position() + 1) {
    on_fin_acked();
  }
  set_up_persist();
  return state != State::closed;
}

void Connection::Impl::update_send_window(const SegmentIn& segment) {
  // RFC 9293 §3.10.7.4: only the newest segment's window counts. A segment that acknowledges something new is
  // newer than all before it, even if it is a retransmission with an old sequence number: snd_una moves with
  // it, and the old window added to the new snd_una would reach beyond the edge that the peer has announced.
  if (segment.ack > seq_of(snd_una) || snd_wl1 < segment.seq ||
      (snd_wl1 == segment.seq && snd_wl2 <= segment.ack)) {
    if (snd_wnd == 0 && segment.window != 0) {
      last_progress = now;  // the user time-out starts again
    }
    snd_wnd = std::uint64_t{segment.window} << snd_scale;
    max_snd_wnd = std::max(max_snd_wnd, snd_wnd);
    note_window(segment);
    if (snd_wnd == 0) {
      closed_window_heard = now;
    }
  }
}

void Connection::Impl::take_sack(const SegmentIn& segment, AckNews& news) {
  std::size_t i = 0;
  const SackBlock& first = segment.sack[0];
  // RFC 2883 §4: the first block reports a duplicate if it is acknowledged, or within the second block.
  if (first.right <= segment.ack || (segment.sack_count > 1 && segment.sack[1].left <= first.left &&
                                     first.right <= segment.sack[1].right)) {
    const std::int64_t left = first.left - seq_of(snd_una), right = first.right - seq_of(snd_una);
    // Nothing arrives twice that was not sent twice, nor can the byte that the peer waits for have arrived. A
    // peer that reports it is faulty; believing it that nothing was lost would send the window again, and
    // make it report the same again.
    const bool awaited = left <= 0 && right > 0;
    if (left < right && !awaited && left + static_cast<std::int64_t>(snd_una) >= 0 &&
        right <= static_cast<std::int64_t>(flight()) && bytes_retransmitted > 0) {
      news.dsack = Scoreboard::Block{snd_una + static_cast<std::uint64_t>(left),
                                     snd_una + static_cast<std::uint64_t>(right)};
    }
    i = 1;
  }
  for (; i < segment.sack_count; ++i) {
    const std::int64_t left = segment.sack[i].left - seq_of(snd_una);
    const std::int64_t right = segment.sack[i].right - seq_of(snd_una);
    if (left < 0 || right <= left || right > static_cast<std::int64_t>(flight())) {
      continue;  // not within the bytes in flight
    }
    const bool added = scoreboard.add(
        snd_una + static_cast<std::uint64_t>(left), snd_una + static_cast<std::uint64_t>(right),
        [&](std::uint64_t from, std::uint64_t to, const Scoreboard::Block& block) {
          for (SentSegments::Number n = segments.find(from); n != segments.end() && segments.at(n).start < to;
               ++n) {
            const SentSegment& sent = segments.at(n);
            // A segment that the peer has only in part counts as not arrived: it is retransmitted as a whole.
            if (!sent.sacked && block.left <= std::max(sent.start, snd_una) && sent.end() <= block.right) {
              segments.mark_sacked(n);
              on_delivered(sent, sent.size, /*acknowledged=*/false, news);
            }
          }
        });
    news.sacked |= added;
  }
}

// `segment`, or its first `bytes`, is reported as arrived for the first time, by the acknowledgement or by
// SACK.
void Connection::Impl::on_delivered(const SentSegment& segment, std::uint32_t bytes, bool acknowledged,
                                    AckNews& news) {
  news.delivered += bytes;
  rate.on_delivered(segment, bytes, now);
  if (path_mtu.is_probe(segment.start)) {
    path_mtu.on_probe_arrived(now);
    set_mss(path_mtu.mss());
  }
  const bool ambiguous = segment.retransmitted && may_be_original(segment, acknowledged, news);
  if (sack && !ambiguous) {
    rack.on_delivered(segment, now);
  }
  news.original_arrived |= !segment.retransmitted && segment.end() <= recover;
  if (!segment.retransmitted) {
    news.oldest_sent = std::min(news.oldest_sent, segment.sent_at);
    news.newest_sent = std::max(news.newest_sent, segment.sent_at);
    return;
  }
  news.repetition_arrived = true;
  // RFC 7323 §4.1: timestamps show which of the two transmissions was timed; without them it is unknown.
  if (timestamps && acknowledged && !ambiguous) {
    news.newest_repeated = std::max(news.newest_repeated.value_or(segment.sent_at), segment.sent_at);
  }
}

// Returns true if, of a segment that was sent twice, the original may be what has arrived (RFC 8985 §6.2 step
// 2). As long as everything was sent twice, there is no round-trip time by which to decide. What arrives
// behind a hole is answered with the timestamp of what came before the hole (RFC 7323 §4.3), whenever it was
// sent: if that counted, the answer to a tail loss probe would find no loss.
bool Connection::Impl::may_be_original(const SentSegment& segment, bool acknowledged,
                                       const AckNews& news) const {
  const Duration least = min_rtt.value();
  return least == Duration::zero() || now - segment.sent_at < least ||
         (acknowledged && news.ts_ecr && timestamp_before(*news.ts_ecr, timestamp(segment.sent_at)));
}

void Connection::Impl::on_new_ack(std::uint64_t position, AckNews& news) {
  news.acked = position - snd_una;
  news.validated = validation.validated(news.flight_before, congestion->cwnd());
  validation.on_ack(snd_una, position, snd_nxt, rtt.srtt(), now);
  while (!segments.empty() && segments.at(segments.first()).end() <= position) {
    const SentSegment& first = segments.at(segments.first());
    if (!first.sacked) {
      on_delivered(first, static_cast<std::uint32_t>(first.end() - std::max(first.start, snd_una)),
                   /*acknowledged=*/true, news);
    }
    segments.remove_first();
  }
  if (!segments.empty() && segments.at(segments.first()).start < position) {
    const SentSegment& first = segments.at(segments.first());
    const auto bytes = static_cast<std::uint32_t>(position - first.start);
    if (!first.sacked) {
      on_delivered(first, bytes, /*acknowledged=*/true, news);
    }
    segments.trim_first(bytes);
  }
  // Duplicate acknowledgements have reported these already.
  news.delivered -= std::min(news.delivered, duplicates.reported(snd_una, position));
  undo.on_ack(snd_una, position, news.ts_ecr);
  snd_una = position;
  queue.release(std::min(snd_una, queue.end()));
  scoreboard.release(snd_una);
  path_mtu.on_progress();
  path_doubt.on_progress(now);
  persist_backoff = 0;
  last_progress = now;
}

// RFC 6298 §3 with Karn's algorithm: a segment that was sent twice gives no sample unless it is known which
// transmission was acknowledged, and a doubled time-out stays doubled until there is a sample. For the
// time-out, one sample is taken in each round trip, of the segment that took the longest.
void Connection::Impl::take_round_trip(const AckNews& news) {
  if (news.first_timed() == kNever) {
    return;
  }
  min_rtt.on_sample(std::max(now - news.last_timed(), Duration(1)), now);
  if (news.first_timed() >= timed_at) {
    timed_at = now;
    if (peer_rest == 0 || !rtt.has_sample()) {  // else it may be the time of its rest
      rtt.on_sample(now - news.first_timed());
    }
  }
}

}  // namespace tfabric::stack
