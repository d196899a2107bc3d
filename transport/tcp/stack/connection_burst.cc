// Super-segments (TCP segmentation offload): several segments are handed out as one, which the driver cuts,
// or the owner in its place (link/segment_cutter.h).
//
// To the peer and to the rest of the machine this is the same as if they had left one by one: each has a
// record of its own (sent_segments.h), so that loss detection, SACK and rate samples work as without.
#include <algorithm>

#include "transport/tcp/stack/connection_impl.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {

// Anything that must be sent once cannot be in a header that is copied: CWR (RFC 3168 §6.1.2), a D-SACK (RFC
// 2883 §4). SACK blocks would make the segments shorter than their records.
bool Connection::Impl::may_burst() const {
  return options.super_segment > mss && !ecn.cwr_waits() && !duplicate && !(sack && reassembly.has_holes());
}

// Returns the bytes that the congestion window, the pacer and the driver have room for.
std::uint64_t Connection::Impl::burst_room() const {
  const std::uint64_t most = window(), used = pipe();
  const std::uint64_t counted = std::uint64_t{options.super_segment_count} * effective_mss();
  return std::min(
      {most - std::min(most, used), pacer.room(now), std::uint64_t{options.super_segment}, counted});
}

// Returns the bytes of new data that may leave as one super-segment; at least next_data(), which may leave
// anyway.
std::uint64_t Connection::Impl::new_burst() const {
  const std::uint64_t one = next_data(), size = effective_mss();
  if (one < size || !may_burst()) {
    return one;
  }
  const std::uint64_t all = queue.end() - snd_nxt;
  const std::uint64_t room = std::min(burst_room(), usable_window());
  // Only the last segment of the queued data may be short, as if the segments had left one by one.
  return all <= room ? all : std::max(one, room / size * size);
}

// Returns the bytes of lost segments that may be retransmitted as one, from `number` on, which may leave
// anyway.
std::uint32_t Connection::Impl::repeated_burst(SentSegments::Number number) const {
  std::uint32_t bytes = std::min(segments.at(number).size, effective_mss());
  if (segments.at(number).size != effective_mss() || !may_burst()) {
    return bytes;
  }
  const std::uint64_t room = burst_room();
  for (SentSegments::Number n = number + 1; n != segments.end(); ++n) {
    const SentSegment& next = segments.at(n);
    // The driver cuts all to the same size; small segments are joined and sent by themselves.
    if (!next.lost || next.size != effective_mss() || bytes + next.size > room) {
      break;
    }
    bytes += next.size;
  }
  return bytes;
}

// Records new data that leaves at snd_nxt.
void Connection::Impl::record_new(const SegmentOut& out, bool was_idle) {
  std::uint32_t left = out.payload_size;
  std::uint64_t start = snd_nxt;
  while (out.segment_size != 0 && left > out.segment_size) {
    rate.on_sent(segments.add(start, out.segment_size, now), was_idle && start == snd_nxt, now);
    start += out.segment_size;
    left -= out.segment_size;
  }
  left += (out.flags & flag::fin) != 0 ? 1u : 0u;
  rate.on_sent(segments.add(start, left, now), was_idle && start == snd_nxt, now);
}

// Records that `bytes` leave again, from the beginning of segment `number` on.
void Connection::Impl::record_repeated(SentSegments::Number number, std::uint32_t bytes) {
  for (SentSegments::Number n = number; bytes > 0; ++n) {
    if (bytes < segments.at(n).size) {
      segments.split(n, bytes);
    }
    const SentSegment& segment = segments.at(n);
    if (path_mtu.is_probe(segment.start)) {
      path_mtu.forget_probe();
    }
    segments.resend(n, now);
    rate.on_sent(segments.at(n), /*idle=*/false, now);
    if (recovery != Recovery::none) {
      undo.on_retransmission(segment.start, segment.size, timestamp(now));
    }
    bytes -= segment.size;
  }
}

}  // namespace tfabric::stack
