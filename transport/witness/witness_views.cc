// What the witness makes of its peers: it asks the comms' lanes where a connection has been closed, and tells
// the comms, and the log, what is known.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>

#include "base/log.h"
#include "transport/bootstrap/socket.h"
#include "transport/witness/witness.h"

namespace tfabric::witness {
namespace {

// How long a process must be stopped for a warning.
constexpr Duration kWorthWarning = std::chrono::seconds(2);

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

// Each engine looks at its lanes once a millisecond while there is a doubt; they live if one has done so
// lately.
void Witness::look_at_lanes(Entry& entry) {
  constexpr Duration kLately = std::chrono::milliseconds(200);
  if (entry.doubt == 0) {
    return;
  }
  const Peer& peer = *entry.peer;
  if (const std::uint32_t looks = peer.looks_.load(std::memory_order_relaxed);
      std::exchange(entry.looks, looks) != looks) {
    entry.living_at = clock_;
  }
  const Instant heard = peer.heard_at();
  entry.standing.look(clock_, {.living = entry.living_at != Instant{} && clock_ - entry.living_at < kLately,
                               .heard = std::exchange(entry.heard_before, heard) != heard,
                               .answered = peer.answered_.load(std::memory_order_acquire) == entry.doubt});
  if (entry.standing.runs_without() && entry.attempt != 0) {
    close_connection(std::exchange(entry.attempt, 0));  // a check that was taken, and not answered
  }
}

// Each asks anew.
void Witness::begin_doubt(Entry& entry) {
  entry.doubt = ++last_doubt_;
  entry.looks = entry.peer->looks_.load(std::memory_order_relaxed);
  entry.living_at = {};
  entry.heard_before = entry.peer->heard_at();
  entry.peer->doubt_.store(entry.doubt, std::memory_order_release);
  doubts_.fetch_add(1, std::memory_order_release);
}

void Witness::end_doubt(Entry& entry) {
  if (std::exchange(entry.doubt, 0) != 0) {
    entry.peer->doubt_.store(0, std::memory_order_release);
    doubts_.fetch_sub(1, std::memory_order_release);
  }
}

void Witness::say_lost(Entry& entry) {
  if (std::exchange(entry.said_lost, true)) {
    return;
  }
  const std::string line = fmt::format(
      "NET/tfabric: the witness's connection to {} was closed, and TCP to {} port {} is not let through any "
      "more, while the process answers over the rails: a firewall or a proxy between the hosts does that. "
      "The job goes on. Until the connection can be made again, an end of that process is noticed after "
      "tcp.user_timeout_ms only",
      to_string(entry.who), bootstrap::ip_text(entry.contact.address), entry.contact.port);
  if (std::exchange(said_lost_, true)) {
    TF_INFO("{}", line);
  } else {
    TF_WARN("{}", line);
  }
}

void Witness::publish(Entry& entry) {
  if (!entry.standing.in_doubt()) {
    end_doubt(entry);
  } else if (entry.doubt == 0) {
    begin_doubt(entry);
  }
  const View view = entry.standing.view(clock_);
  entry.peer->vouched_for_.store(entry.standing.vouches(clock_), std::memory_order_release);
  const View before = entry.peer->view_.exchange(view, std::memory_order_acq_rel);
  if (view == View::stopped) {
    on_stopped(entry);
  } else if (before == View::stopped) {
    if (view == View::alive || view == View::unknown || entry.standing.runs_without()) {
      on_resumed(entry);
    }
    entry.warned = false;
  }
  if (entry.standing.runs_without()) {
    say_lost(entry);
  }
  if (view == View::ended && before != View::ended) {
    news_.fetch_add(1, std::memory_order_release);
  }
}

void Witness::on_stopped(Entry& entry) {
  entry.stopped_at = entry.standing.stopped_since();
  const Duration since = clock_ - entry.stopped_at;
  if (!entry.warned && since >= kWorthWarning) {
    entry.warned = true;
    const std::string line = fmt::format(
        "NET/tfabric: the process at the other end ({}) has not run for {:.0f} s: it is stopped (SIGSTOP, a "
        "debugger, a freezer, a migration) or gets no CPU; its host answers. Communicators wait for it for "
        "up to {}",
        to_string(entry.who), seconds(since), options_.patience);
    if (options_.warns) {
      TF_WARN("{}", line);
    } else {
      TF_INFO("{}", line);
    }
  }
}

void Witness::on_resumed(Entry& entry) {
  const Duration stop = clock_ - entry.stopped_at;
  entry.peer->last_stop_.store(stop.count(), std::memory_order_relaxed);
  entry.peer->resumptions_.fetch_add(1, std::memory_order_release);
  news_.fetch_add(1, std::memory_order_release);
  if (std::exchange(entry.warned, false)) {
    TF_INFO("NET/tfabric: the process at the other end ({}) runs again, after {:.1f} s", to_string(entry.who),
            seconds(stop));
  }
}

}  // namespace tfabric::witness
