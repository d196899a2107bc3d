// The timers of a connection: which ones run, and what happens when they expire.
#include <algorithm>

#include "transport/tcp/stack/connection_impl.h"

namespace tfabric::stack {
namespace {

// How long to wait for a peer that has acknowledged our FIN and sends neither data nor a FIN (Linux:
// tcp_fin_timeout, 60 s).
constexpr Duration kFinWait2 = std::chrono::seconds(5);
constexpr int kMaxPersistBackoff = 10;

}  // namespace

Instant Connection::Impl::progress_deadline() const {
  if (!synchronized()) {
    return kNever;
  }
  // With nothing in flight, only a probe of a closed window asks the peer for an answer: its silence counts
  // from there, so that a pause of our own process is not taken for the peer's.
  if (flight() == 0) {
    return probe_unanswered == kNever ? kNever : probe_unanswered + user_timeout;
  }
  // A peer may keep its window closed for as long as it likes if it goes on announcing that (RFC 9293
  // §3.8.6.1), in answer to probes or, if it has taken back a window that we have used, to retransmissions.
  // Other answers, such as of a peer that has lost what it acknowledged, do not count.
  const Instant since = snd_wnd == 0 ? std::max(closed_window_heard, last_progress) : last_progress;
  return since + user_timeout;
}

// Runs for each segment. A list for std::min() would be written to memory and read again: three times as many
// instructions.
Instant Connection::Impl::next_deadline() const {
  Instant next = progress_deadline();
  const auto consider = [&next](Instant other) { next = other < next ? other : next; };
  consider(rto_at);
  consider(pto_at);
  consider(reorder_at);
  consider(paced_at);
  consider(persist_at);
  consider(keepalive_at);
  consider(delayed_ack_at);
  consider(wait_at);
  consider(connect_at);
  return next;
}

void Connection::Impl::on_time(Instant at) {
  now = at;
  if (connect_at <= now || progress_deadline() <= now) {
    // RFC 5482. The reset tells a peer that is alive, in case only the path to us is broken.
    const bool notify = state != State::syn_sent;
    silent_since = connect_at <= now ? last_heard : progress_deadline() - user_timeout;
    end(ConnectionError::timed_out);
    send_reset = notify;
    reset_seq = seq_of(snd_nxt);
    return;
  }
  if (wait_at <= now) {
    if (state == State::time_wait) {
      end(ConnectionError::none);
      return;
    }
    if (unread() == 0) {
      silent_since = last_heard;
      end(ConnectionError::timed_out);  // an error, because the peer's stream has no end
      return;
    }
    restart_fin_wait_2();  // our own reader makes the peer wait
  }
  if (paced_at <= now) {
    paced_at = kNever;  // next_segment() goes on
  }
  if (reorder_at <= now) {
    find_losses(/*delivered=*/0);
  }
  if (pto_at <= now) {
    on_pto();
  }
  if (rto_at <= now) {
    on_rto();
  }
  if (persist_at <= now) {
    on_persist();
  }
  if (keepalive_at <= now) {
    on_keepalive();
  }
  if (delayed_ack_at <= now) {
    delayed_ack_at = kNever;
    ack_now = true;
  }
}

void Connection::Impl::forgive(Duration pause, Instant at) {
  for (Instant* since : {&last_progress, &closed_window_heard}) {
    *since = std::min(*since + pause, at);
  }
  if (probe_unanswered != kNever) {
    probe_unanswered = std::min(probe_unanswered + pause, at);
  }
  for (Instant* deadline : {&connect_at, &wait_at}) {
    *deadline = *deadline == kNever ? kNever : *deadline + pause;
  }
  keepalives_unanswered = 0;
}

void Connection::Impl::on_persist() {
  persist_backoff = std::min(persist_backoff + 1, kMaxPersistBackoff);
  persist_at = now + std::min<Duration>(rtt.rto() * (std::int64_t{1} << persist_backoff), options.max_rto);
  if (snd_wnd > 0) {
    override_window = true;
    return;
  }
  if (probe_unanswered != kNever) {
    path_doubt.on_sign(now);
  }
  probe_now = true;
  probe_unanswered = std::min(probe_unanswered, now);
}

void Connection::Impl::on_keepalive() {
  give_memory_back();
  if (flight() > 0) {
    // The user time-out watches as long as there is something in flight.
    keepalive_at = now + options.keepalive_idle;
    return;
  }
  if (keepalives_unanswered >= options.keepalive_probes) {
    silent_since = last_heard;
    end(ConnectionError::timed_out);
    send_reset = true;
    reset_seq = seq_of(snd_nxt);
    return;
  }
  // An answer to the one before would have put this one off. The peer may be heard all the same: it repeats
  // its own probes if it does not receive our answers.
  if (now - keepalive_sent < options.keepalive_idle) {
    path_doubt.raise();
  }
  keepalive_sent = now;
  ++keepalives_unanswered;
  probe_now = true;
  keepalive_at = now + options.keepalive_interval;
}

// Frees the memory of an idle connection; the next data allocates it again.
void Connection::Impl::give_memory_back() {
  if (flight() == 0) {
    queue.shrink();
    segments.shrink();
  }
  reassembly.shrink();
}

void Connection::Impl::restart_fin_wait_2() { wait_at = now + kFinWait2; }

}  // namespace tfabric::stack
