// What a send comm does while nothing that it sends is confirmed: the clock of its patience, and new lanes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "transport/tcp/comm/send_comm.h"

namespace tfabric::tcp {

using LaneState = SendFlows::State;

// Called before bytes are dealt as well, so that the time counts from there.
void SendComm::note_confirmations() {
  if (outbox_.confirmations() == confirmations_ && (outbox_.awaits_confirmation() || awaits_answer())) {
    return;
  }
  confirmations_ = outbox_.confirmations();
  confirmed_at_ = context_.engine.last_turn();
  paused_until_ = context_.engine.paused();
  silent_ = false;
  if (in_outage() && any_carries()) {
    end_outage();
  }
}

// While the peer's receive is awaited, its report may be what was lost (ask_while_waiting()).
bool SendComm::awaits_answer() const {
  return outbox_.waits_for_receive() && any_carries() &&
         std::all_of(lanes_.begin(), lanes_.end(), [](const LaneEnd& lane) {
           return lane.flow == nullptr || lane.flow->stream().awaits_peer();
         });
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
  constexpr Duration kSilence = std::chrono::seconds(1);
  // The peer's reports may be what is lost, of which nothing is seen here; or it gets no CPU.
  constexpr Duration kLongSilence = std::chrono::seconds(3);
  const Duration silence = unconfirmed_for(now);
  const bool unanswered = std::any_of(lanes_.begin(), lanes_.end(), [](const LaneEnd& lane) {
    return lane.flow != nullptr && lane.flow->stream().timeouts_in_row() > 0;
  });
  silent_ = welcomed() && !peer_over_ && silence >= (unanswered ? kSilence : kLongSilence);
  if (silent_ && !in_outage() && any_carries()) {
    begin_outage({Errc::remote, {}}, now - silence);  // the lanes say why
  }
  silent_ = silent_ && PeerProcesses::view(*this) != witness::View::stopped;
  return silent_;
}

// A lane has joined while the others are silent. Ours send again at once; a kernel may wait for as long as
// the silence has lasted, so what its connections have not brought goes over others.
void SendComm::replace_silent(stripe::LaneId joined) {
  const Instant now = context_.engine.last_turn();
  for (std::size_t i = 0; i < lanes_.size() && !failed(); ++i) {
    if (i == joined.value || !carries({i}) || !lanes_[i].flow->stream().awaits_peer()) {
      continue;
    }
    if (!lanes_[i].flow->by_kernel()) {
      try_again(*lanes_[i].flow, now);
    } else if (lanes_[i].flow->stream().progressed_at() < at(joined).flow->stream().progressed_at()) {
      give_up({i}, {Errc::remote,
                    fmt::format("{}: nothing has arrived for {:.1f} s, and a new connection can "
                                "be made",
                                at({i}).name, std::chrono::duration<double>(unconfirmed_for(now)).count())});
    }
  }
}

// While all lanes are silent, those of a kernel do not count: it may send again too late.
bool SendComm::lacks_answer(stripe::RouteId route) const {
  bool any = false;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].flow != nullptr && book_.route({i}) == route) {
      if (!lanes_[i].flow->by_kernel() || book_.state({i}) == LaneState::opening) {
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
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!is_trusted({i}) || (routes_.size() == 1 && !lanes_[i].flow->by_kernel())) {
      continue;
    }
    stack::ByteStream& stream = lanes_[i].flow->stream();
    if (!stream.awaits_peer() && now - stream.progressed_at() >= kQuiet &&
        lane::send_record(stream, lane::encode_record(lane::RecordType::ask, {}))) {
      lanes_[i].flow->wake();
    }
  }
  return true;
}

}  // namespace tfabric::tcp
