// What a send comm does while nothing that it sends is confirmed: the clock of its patience, and new lanes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "transport/comm/send_comm.h"

namespace tfabric::comm {

using lane::Lane;
using LaneState = flows::SendFlows::State;
namespace {

constexpr Duration kSilence = std::chrono::seconds(1);

// Nothing of what the peer owes has come for so long. Other lanes, such as one that has just joined, may only
// be slow.
bool is_silent(const Lane& lane, Instant now) TF_IN_TURN {
  return lane.awaits_peer() && now - lane.progressed_at() >= kSilence;
}

}  // namespace

// Called before bytes are dealt as well, so that the time counts from there.
void SendComm::note_confirmations() {
  if (outbox_.confirmations() == confirmations_ && (outbox_.awaits_confirmation() || awaits_answer())) {
    return;
  }
  confirmations_ = outbox_.confirmations();
  confirmed_at_ = context_.engine.last_turn();
  paused_until_ = context_.engine.paused();
  silent_ = false;
  if (in_outage() && lanes_.any_carries() && !has_no_taker()) {
    end_outage();
  }
}

// While the peer's receive is awaited, its report may be what was lost (ask_while_waiting()).
bool SendComm::awaits_answer() const {
  return outbox_.waits_for_receive() && lanes_.any_carries() &&
         std::all_of(lanes_.begin(), lanes_.end(),
                     [](const auto& lane) TF_IN_TURN { return !lane->is_open() || lane->awaits_peer(); });
}

Duration SendComm::unconfirmed_for(Instant now) const {
  return outbox_.awaits_confirmation() || awaits_answer()
             ? now - confirmed_at_ - (context_.engine.paused() - paused_until_)
             : Duration::zero();
}

// An outage begins when bytes are outstanding and none is confirmed on any lane, not when lanes are lost:
// that takes a kernel as long as the outage may last. Nor does it end when a lane joins, since a route that
// takes connections may carry nothing. Returns true while new lanes are to be tried beside the silent ones.
bool SendComm::note_silence(Instant now) {
  // The peer's reports may be what is lost, of which nothing is seen here; or it gets no CPU.
  constexpr Duration kLongSilence = std::chrono::seconds(3);
  const Duration silence = unconfirmed_for(now);
  const bool unanswered = std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) TF_IN_TURN {
    return lane->is_open() && lane->timeouts_in_row() > 0;
  });
  silent_ = welcomed() && !peer_over_ && silence >= (unanswered ? kSilence : kLongSilence);
  if (silent_ && !in_outage() && lanes_.any_carries()) {
    begin_outage({Errc::remote, {}}, now - silence);  // the lanes say why
  }
  if (session::PeerProcesses::view(*this) == witness::View::stopped) {
    stopped_at_ = now;
  }
  // A process that runs again takes what has waited there before it answers anything.
  silent_ = silent_ && (!stopped_at_ || now - *stopped_at_ >= kSilence);
  return silent_;
}

// A lane has joined while the others are silent. Ours send again at once; a kernel may wait for as long as
// the silence has lasted, so what its connections have not brought goes over others.
void SendComm::replace_silent(const Lane& joined) {
  const Instant now = context_.engine.last_turn();
  for (std::size_t i = 0; i < lanes_.size() && !failed(); ++i) {
    Lane& lane = lanes_.at({i});
    if (&lane == &joined || !lane.carries() || !lane.awaits_peer()) {
      continue;
    }
    if (!repeats_late(lane)) {
      lane.retry(now);
    } else if (is_silent(lane, now)) {
      give_up(lane, {Errc::remote,
                     fmt::format("{}: nothing has arrived for {:.1f} s, and a new connection can "
                                 "be made",
                                 lane.name(), std::chrono::duration<double>(unconfirmed_for(now)).count())});
    }
  }
}

// While nothing is confirmed, silent lanes of a kernel do not count: it may send again too late. Those that
// are not silent stay, and can say who else is dead.
bool SendComm::lacks_answer(stripe::RouteId route, Instant now) const {
  bool any = false;
  for (const auto& lane : lanes_) {
    if (lane->is_open() && book_.route(lane->id()) == route) {
      if (!repeats_late(*lane) || state_of(*lane) == LaneState::opening || !is_silent(*lane, now)) {
        return false;
      }
      any = true;
    }
  }
  return silent_ && any;
}

// A comm that waits for the peer's receive has nothing on its way, so a lane that is cut would go unnoticed,
// and the peer's report be lost with it: the receiver cannot dial another one. The only route of a comm is
// worth it if a kernel may wait too long before it sends again. Returns true while it waits.
bool SendComm::ask_while_waiting(Instant now) {
  constexpr Duration kQuiet = std::chrono::milliseconds(250);
  if (failed() || !outbox_.waits_for_receive()) {
    return false;
  }
  for (const auto& lane : lanes_) {
    if (!is_trusted(*lane) || (routes_.size() == 1 && !repeats_late(*lane))) {
      continue;
    }
    if (!lane->awaits_peer() && now - lane->progressed_at() >= kQuiet) {
      lane->say(lane::encode_record(lane::RecordType::ask, {}));
    }
  }
  return true;
}

}  // namespace tfabric::comm
