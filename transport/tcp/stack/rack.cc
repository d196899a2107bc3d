#include "transport/tcp/stack/rack.h"

#include <algorithm>

namespace tfabric::stack {
namespace {

constexpr std::size_t kDupThresh = 3;         // RFC 5681 §2, RFC 8985 §6.2 step 4
constexpr std::uint32_t kReoWndPersist = 16;  // recoveries: RFC 8985 §6.2 step 4
// The window never exceeds SRTT and grows by a quarter of the least RTT a step; more steps would only take
// longer to be forgotten.
constexpr std::uint32_t kMaxReoWndMult = 255;

// RACK_sent_after(), RFC 8985 §6.2.
bool sent_after(Instant t1, std::uint64_t end1, Instant t2, std::uint64_t end2) {
  return t1 > t2 || (t1 == t2 && end1 > end2);
}

}  // namespace

void Rack::on_delivered(const SentSegment& segment, Instant now) {
  const Duration rtt = now - segment.sent_at;
  if (!segment.retransmitted && segment.end() < fack_) {
    reordering_ = std::max(reordering_, fack_ - segment.start);  // step 3
  }
  fack_ = std::max(fack_, segment.end());
  const auto take = [&](Latest& latest) {
    latest.rtt = rtt;
    if (sent_after(segment.sent_at, segment.end(), latest.xmit_ts, latest.end_seq)) {
      latest.xmit_ts = segment.sent_at;
      latest.end_seq = segment.end();
    }
  };
  take(latest_);
  if (!segment.retransmitted) {
    take(latest_once_);
  }
}

void Rack::on_dsack(std::uint64_t snd_una, std::uint64_t snd_nxt) {
  if (dsack_round_ && snd_una < *dsack_round_) {
    return;  // once a round trip
  }
  dsack_round_ = snd_nxt;
  reo_wnd_mult_ = std::min(reo_wnd_mult_ + 1, kMaxReoWndMult);
  reo_wnd_persist_ = kReoWndPersist;
}

void Rack::on_recovery_end() {
  if (reo_wnd_persist_ > 0 && --reo_wnd_persist_ == 0) {
    reo_wnd_mult_ = 1;
  }
}

Duration Rack::reo_wnd(const SentSegments& segments, const RoundTrips& trips) const {
  if (!reordering_seen() && (trips.in_recovery || segments.sacked_segments() >= kDupThresh)) {
    return Duration::zero();
  }
  return std::min<Duration>(trips.min_rtt / 4 * reo_wnd_mult_, trips.srtt);
}

Instant Rack::detect(SentSegments& segments, const RoundTrips& trips, Instant now) const {
  const Duration wait = latest_.rtt + reo_wnd(segments, trips);
  while (segments.in_network() > 0) {
    const SentSegments::Number oldest = segments.oldest();
    const SentSegment& segment = segments.at(oldest);
    if (!sent_after(latest_.xmit_ts, latest_.end_seq, segment.sent_at, segment.end())) {
      break;
    }
    if (segment.sent_at + wait > now) {
      return segment.sent_at + wait;
    }
    segments.mark_lost(oldest);
  }
  return kNever;
}

void Rack::mark_on_rto(SentSegments& segments, const RoundTrips& trips, Instant now) const {
  const Duration wait = latest_.rtt + reo_wnd(segments, trips);
  while (segments.in_network() > 0 && segments.at(segments.oldest()).sent_at + wait <= now) {
    segments.mark_lost(segments.oldest());
  }
  const SentSegments::Number first = segments.first();
  if (!segments.at(first).lost && !segments.at(first).sacked) {
    segments.mark_lost(first);
  }
}

}  // namespace tfabric::stack
