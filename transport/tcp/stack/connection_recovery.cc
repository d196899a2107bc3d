// Losses: how they are found (RACK-TLP, RFC 8985; without SACK, RFC 5681 and 6582), and how much is sent
// while they are repaired (PRR, RFC 9937).
#include <algorithm>

#include "transport/tcp/stack/connection_impl.h"

namespace tfabric::stack {
namespace {

constexpr std::uint32_t kDupThresh = 3;  // RFC 5681 §2

}  // namespace

Rack::RoundTrips Connection::Impl::round_trips() const {
  return {.min_rtt = min_rtt.value(), .srtt = rtt.srtt(), .in_recovery = recovery != Recovery::none};
}

// Returns the bytes assumed to be in the network (RFC 6675 §4).
std::uint64_t Connection::Impl::pipe() const {
  if (sack) {
    return segments.in_network();
  }
  return segments.in_network() - std::min(segments.in_network(), duplicates.reported());
}

std::uint64_t Connection::Impl::window() const {
  return recovery == Recovery::fast && sack && congestion->uses_prr() ? prr.cwnd() : congestion->cwnd();
}

// Detects and repairs losses after an acknowledgement.
void Connection::Impl::repair(AckNews& news) {
  take_round_trip(news);
  peer_rest = 0;
  if (sack) {
    take_dsack(news);
  }
  const bool was_recovering = recovery == Recovery::fast;
  doubt_recovery(news);
  if (recovery != Recovery::none && snd_una >= recover && news.acked > 0) {
    leave_recovery();
  }
  if (sack) {
    find_losses(news.delivered);
  } else {
    count_duplicates(news);
  }
  tell_controller(news, was_recovering || recovery == Recovery::fast);
  if (recovery == Recovery::fast) {
    prr.on_ack({.delivered = news.delivered,
                .in_flight = pipe(),
                .safe = news.acked > 0 && newly_lost == 0,
                .mss = effective_mss()});
  }
  newly_lost = 0;
  if (flight() == 0) {
    rto_at = pto_at = reorder_at = kNever;
  } else if (news.acked > 0) {
    arm_rto();
    arm_pto();
  } else {
    if (segments.sacked_segments() > 0) {
      pto_at = kNever;
    }
    if (rto_at == kNever && segments.lost_bytes() == 0) {
      arm_rto();  // it had expired, and the segments to be retransmitted have turned out not to be lost
    }
  }
}

void Connection::Impl::tell_controller(const AckNews& news, bool recovering) {
  if (news.ece && news.acked > 0 && recovery == Recovery::none && ecn.on_echo(snd_una, snd_nxt)) {
    congestion->on_ecn(validation.used(news.flight_before));
    undo.stop();
  }
  congestion->on_ack(
      {.now = now,
       .acked = news.acked,
       .delivered = news.delivered,
       // Counts the bytes that have arrived (RFC 6937 §3.1, DeliveredData), not the acknowledged
       // ones: one acknowledgement that fills a hole would release a burst (RFC 3465 §2.3). SACK
       // reports alone count only on paths that are known to reorder; on others they mean losses.
       // After a time-out they do not count: a peer that reports everything but acknowledges
       // nothing would get all of it again with each report (RFC 5681 §3.1).
       .growth =
           news.acked > 0 || (rack.reordering_seen() && recovery != Recovery::timeout) ? news.delivered : 0,
       .lost = newly_lost,
       .delivered_total = rate.delivered(),
       .in_flight = pipe(),
       .snd_una = snd_una,
       .snd_nxt = snd_nxt,
       .marked = ecn.enabled() && news.ece ? news.acked : 0,
       .rtt = news.first_timed() == kNever ? Duration::zero() : now - news.last_timed(),
       .srtt = rtt.srtt(),
       .min_rtt = min_rtt.value(),
       .rate = rate.take(min_rtt.value()),
       .validated = news.validated,
       .in_recovery = recovering || ecn.reducing(snd_una)});
  pacer.set_rate(send_rate(), now);
}

// Returns bytes a second; zero: no pacing.
std::uint64_t Connection::Impl::send_rate() const {
  if (congestion->pacing_rate() != 0 || !options.pacing || rtt.srtt() == Duration::zero()) {
    return congestion->pacing_rate();
  }
  // Slow start must be able to double its window in a round; after it, the rate is a fifth more than the
  // window's, so that pacing does not become the limit instead of the window (the same gains as Linux's). The
  // rate is that of the whole window: PRR may release only a few bytes for one acknowledgement, which are no
  // measure of a rate.
  const std::uint64_t percent = congestion->in_slow_start() ? 200 : 120;
  constexpr std::uint64_t kNanoseconds = 1'000'000'000;
  return congestion->cwnd() * percent / 100 * kNanoseconds / static_cast<std::uint64_t>(rtt.srtt().count());
}

void Connection::Impl::take_dsack(const AckNews& news) {
  const bool of_probe = news.dsack && tlp.is_probe(news.dsack->right);
  if (news.dsack && !of_probe) {
    rack.on_dsack(snd_una, snd_nxt);
    undo.on_dsack(*news.dsack);
  }
  if (tlp.on_ack({.ack = snd_una, .dsack_of_probe = of_probe, .bare_duplicate = news.duplicate}) &&
      recovery == Recovery::none) {
    // RFC 8985 §7.4.2: the probe has repaired a loss; the window is reduced all the same.
    congestion->on_loss(validation.used(news.flight_before));
    undo.stop();
  }
}

void Connection::Impl::doubt_recovery(const AckNews& news) {
  const bool spurious_rto = frto.on_ack({.advances = news.acked > 0,
                                         .reports = news.duplicate || news.sacked,
                                         .covers_all = snd_una >= recover,
                                         .original_arrived = news.original_arrived,
                                         .new_data = snd_nxt < stream_end() && usable_window() > 0});
  if (spurious_rto || undo.needless()) {
    undo_recovery();
  }
}

void Connection::Impl::undo_recovery() {
  ++undone;
  undo.stop();
  frto.stop();
  segments.unmark_lost();
  rack.on_undo();
  congestion->on_undo();
  if (recovery != Recovery::none) {
    leave_recovery();
  }
}

// `delivered`: the bytes that the current acknowledgement reports as arrived.
void Connection::Impl::find_losses(std::uint64_t delivered) {
  const std::uint64_t before = segments.lost_bytes();
  reorder_at = rack.detect(segments, round_trips(), now);
  newly_lost += segments.lost_bytes() - before;
  if (segments.lost_bytes() > before && path_mtu.probe()) {
    take_probe_loss();
  }
  if (segments.lost_bytes() > excused && recovery == Recovery::none) {
    enter_fast_recovery(delivered);
  }
}

// RFC 4821 §7.5: the loss of a probe is no sign of congestion. Its bytes are sent again in smaller segments.
void Connection::Impl::take_probe_loss() {
  const SentSegment& segment = segments.at(segments.find(*path_mtu.probe()));
  if (segment.lost) {
    path_mtu.on_probe_lost(now);
    if (recovery == Recovery::none) {
      excused = segment.size;
      newly_lost -= segment.size;
    }
  }
}

void Connection::Impl::count_duplicates(AckNews& news) {
  if (news.duplicate) {
    news.delivered += duplicates.on_duplicate(segments, recovery == Recovery::timeout ? recover : 0);
    if (recovery == Recovery::none && duplicates.count() >= kDupThresh) {
      mark_first_lost();
      enter_fast_recovery(0);
    }
  } else if (news.acked > 0 && recovery == Recovery::fast) {
    duplicates.on_partial_ack(segments, snd_una);
    mark_first_lost();  // RFC 6582 §3.2 step 3: a partial acknowledgement names the next hole
    force_retransmission = true;
  } else if (news.acked > 0 && recovery == Recovery::none) {
    duplicates.reset();
  }
}

void Connection::Impl::mark_first_lost() {
  if (!segments.empty() && !segments.at(segments.first()).lost) {
    segments.mark_lost(segments.first());
    newly_lost += segments.at(segments.first()).size;
  }
}

void Connection::Impl::enter_fast_recovery(std::uint64_t delivered) {
  ++fast_retransmits;
  excused = 0;
  recovery = Recovery::fast;
  recover = snd_nxt;
  force_retransmission = true;
  tlp.reset();
  undo.start();
  pto_at = kNever;
  congestion->on_loss(validation.used(flight()));
  ecn.on_reduction(snd_nxt);
  prr.start(flight() - segments.sacked_bytes() + delivered, congestion->ssthresh());
  prr.on_ack({.in_flight = pipe(), .mss = effective_mss()});
}

void Connection::Impl::leave_recovery() {
  recovery = Recovery::none;
  frto.stop();
  force_retransmission = false;
  duplicates.reset();
  rack.on_recovery_end();
}

void Connection::Impl::on_rto() {
  rto_at = pto_at = reorder_at = kNever;
  rtt.back_off();
  if (state == State::syn_sent || state == State::syn_received) {
    path_doubt.on_sign(now);
    send_syn = true;
    ask_ecn = false;  // RFC 3168 §6.1.1.1: a device on the path may drop SYNs that ask for ECN
    return;
  }
  if (flight() == 0) {
    return;
  }
  ++timeouts;
  ++timeouts_in_row;
  path_doubt.on_sign(now);
  excused = 0;
  const std::uint32_t size = segments.at(segments.first()).size + option_bytes();
  if (options.mtu_discovery && sack && path_mtu.on_timeout(size)) {
    set_mss(path_mtu.mss());
  }
  const bool repeated = recovery == Recovery::timeout && snd_una < recover;
  // RFC 2018 §8: the peer may have discarded data that it has reported. It certainly has if it reports the
  // very byte that it asks for: without this check nothing would be left to retransmit, and no timer would
  // run.
  const bool reneged = segments.at(segments.first()).sacked;
  if (repeated || reneged) {
    scoreboard.clear();
    segments.forget_sacks();
  }
  if (sack && !repeated && !reneged) {
    rack.mark_on_rto(segments, round_trips(), now);
  } else {
    segments.mark_all_lost();
  }
  congestion->on_rto(validation.used(flight()), repeated);
  ecn.on_rto();
  if (repeated || reneged) {
    frto.stop();
  } else {
    frto.start();
    undo.start();
  }
  recovery = Recovery::timeout;
  recover = snd_nxt;
  force_retransmission = true;
  tlp.reset();
  probe_tail = false;
  duplicates.reset();
}

// RFC 8985 §7.2: schedules a probe while no loss is known.
void Connection::Impl::arm_pto() {
  pto_at = kNever;
  probe_tail = false;
  if (!sack || recovery != Recovery::none || segments.sacked_segments() > 0 || tlp.outstanding() ||
      flight() == 0) {
    return;
  }
  const bool alone = segments.size() == 1 || flight() <= options.held_ack_bytes;
  const Duration pto = Tlp::pto(rtt.srtt(), alone, options.max_ack_delay);
  pto_at = std::min(now + pto + std::chrono::nanoseconds(peer_rest), rto_at);
}

void Connection::Impl::on_pto() {
  pto_at = kNever;
  if (flight() > 0 && recovery == Recovery::none) {
    probe_tail = true;
    arm_rto();  // RFC 8985 §7.3: the time-out counts from the probe
  }
}

}  // namespace tfabric::stack
