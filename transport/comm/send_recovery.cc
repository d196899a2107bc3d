// How a send comm survives the loss of lanes: burial and outage.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "transport/comm/send_comm.h"
#include "transport/lane/flow_failure.h"

namespace tfabric::comm {

using lane::Lane;
using LaneState = flows::SendFlows::State;

void SendComm::on_lane_failed(Lane& lane, const Loss& loss) {
  outbox_.on_confirmed(lane.id(), lane.confirmed());
  take_acknowledgements();
  if (loss.over) {
    fail(peer_over_.value_or(loss.why));
  } else {
    bury(lane, loss.why, loss.since);
  }
}

// A peer that has said goodbye owes nothing, so its end is no error.
void SendComm::on_peer_ended(Error why) {
  take_acknowledgements();
  if (!peer_over_) {
    fail(std::move(why));
  }
}

// The lane has ended.
void SendComm::bury(Lane& lane, const Error& why, Instant silent_since) {
  SendRoute& route = route_of(lane);
  const bool opening = state_of(lane) == LaneState::opening;
  // It was to find out whether others are dead, or still silent, and has carried nothing.
  const bool only_asked = opening && (stands_by(lane) || silent_);
  counters_.refused += opening && welcomed() ? 1 : 0;
  counters_.buried += opening ? 0 : 1;
  std::erase_if(offerings_, [&](const Offering& each) { return each.lane == &lane; });
  route.back_off(context_.engine.last_turn(), context_.options.outage);
  if (peer_over_) {
    book_.lost(lane.id());
    on_peer_over(lane);
    return;
  }
  begin_burial(lane);
  first_loss_ = first_loss_.value_or(why);
  if (!has_way_left()) {
    fail(welcomed() ? why : *first_loss_);
    return;
  }
  deal();
  const bool cut_off = welcomed() && !lanes_.any_carries();
  if (cut_off) {
    begin_outage(why, silent_since);
  }
  note_loss(route, why, cut_off, only_asked);
  tend();
  pump();
}

void SendComm::begin_burial(Lane& lane) {
  book_.lost(lane.id());
  const bool fenced = lane.fence().has_value();
  burials_.begin(lane.serial(), lane.id(), fenced);
  if (fenced) {
    lanes_.tell_all(lane::encode_serial(lane::RecordType::bury, lane.serial()));
  }
}

void SendComm::note_loss(const SendRoute& route, const Error& why, bool cut_off, bool only_asked) {
  if (route.spare && !route.met) {
    if (route.path->on_unmet()) {
      TF_INFO(
          "NET/tfabric: {}: of the two hosts one has more rails than the other, and these two do not "
          "meet: {}. Messages go over the others",
          route.path->name(), why.message);
    }
    return;
  }
  // Of a peer that is stopped, the witness has said so, and the network is not to blame.
  const bool stopped = session::PeerProcesses::view(*this) == witness::View::stopped;
  if (route.path->on_loss(route.port, context_.engine.last_turn()) && !stopped && !only_asked) {
    TF_WARN("NET/tfabric: {}; {}", why.message,
            cut_off ? "no other connection is left: waiting for one to come back"
                    : "messages go on over the others, and the rail is tried again");
  }
}

void SendComm::give_up(Lane& lane, const Error& why) {
  suspicion_.forget(lane);
  lane.keep(why.message);
  outbox_.on_confirmed(lane.id(), lane.confirmed());
  lane.abort();
  bury(lane, why, context_.engine.last_turn());
}

void SendComm::on_suspicion(const Lane& lane, bool suspected) {
  book_.suspect(lane.id(), suspected);
  deal();
  pump();
  if (suspected) {
    tend();
  }
}

// The receiver closes all flows of its comm at once, and one flow's FIN may overtake another's
// acknowledgements. So sends fail only when no flow can acknowledge anything more.
void SendComm::on_peer_over(const Lane& lane) {
  take_acknowledgements();
  on_peer_closed();
  const bool over = std::all_of(lanes_.begin(), lanes_.end(), [this](const auto& other) TF_IN_TURN {
    return !other->is_open() || other->is_finished() || outbox_.drained(other->id());
  });
  peer_over_ = Error{Errc::remote, fmt::format("{}: {}", lane.name(), lane::why_over(peer_reason_))};
  if (over) {
    fail(*peer_over_);
  }
}

Status SendComm::on_buried(std::span<const std::byte> body) {
  const auto grave = lane::decode_position(body);
  if (!grave) {
    return Error{Errc::internal, "the receiver sent a malformed record about a connection it has closed"};
  }
  if (const auto settlement = burials_.answered(grave->serial, grave->position)) {
    return settle(grave->serial, *settlement);
  }
  if (Lane* living = lanes_.find(grave->serial); living != nullptr) {
    give_up(*living, {Errc::remote, fmt::format("{}: the peer has given it up", living->name())});
    return failed() ? Status() : on_buried(body);
  }
  if (!burials_.awaits_fence(grave->serial)) {  // settled before: the receiver has not heard of it
    lanes_.tell_all(lane::encode_serial(lane::RecordType::settled, grave->serial));
  }
  return {};
}

// From here on nothing reads what the lane was given.
void SendComm::on_fenced(Lane& lane, std::uint64_t /*position*/) {
  if (failed()) {
    return;
  }
  const auto settlement = burials_.fenced(lane.serial());
  if (!settlement) {
    lanes_.tell_all(lane::encode_serial(lane::RecordType::bury, lane.serial()));
  } else if (Status status = settle(lane.serial(), *settlement); !status) {
    fail(status.error());
  }
}

Status SendComm::settle(stripe::LaneSerial serial, const stripe::Burials::Settlement& settlement) {
  const stripe::LaneId lane = settlement.lane;
  const std::uint64_t before = outbox_.dealt_again();
  if (Status status = outbox_.settle(lane, settlement.position); !status) {
    return Error{status.error().code, fmt::format("{}: {}", at(lane).name(), status.error().message)};
  }
  route_at(book_.route(lane)).path->on_dealt_again(outbox_.dealt_again() - before);
  book_.gone(lane);
  lanes_.tell_all(lane::encode_serial(lane::RecordType::settled, serial));
  pump();
  return {};
}

void SendComm::on_time(Instant now) {
  if (rests(now)) {
    return;
  }
  judge_suspects(now);
  const bool cut_off = note_silence(now) || !lanes_.any_carries() || note_no_taker(now);
  go_on_offering();
  const bool joining = drop_late_joiners(now, cut_off);
  if (failed()) {
    return;
  }
  if (!peer_over_) {
    dial_all(now, cut_off);
  }
  note_ready(now);
  const bool undealt = announced_ != nullptr && !outbox_.is_dealt();
  if (undealt) {
    pump();  // what lanes write of receives makes no event
  }
  const bool standing_in = rest_standbys(now);
  const bool waiting = ask_while_waiting(now) || outbox_.awaits_confirmation();
  bool whole = true;
  for (std::size_t i = 0; i < routes_.size() && !peer_over_; ++i) {
    whole = whole && (book_.count({i}) >= routes_[i].wanted || !is_needed({i}, now) || routes_[i].waived);
  }
  deal();
  if (const std::optional<Error> over = outage_over(now)) {
    fail(has_no_taker() ? no_taker() : *over);
  } else if (first_loss_ && !has_way_left()) {
    fail(*first_loss_);
  } else if (whole && ready() && !undealt && !cut_off && !in_outage() && !joining && !standing_in &&
             !suspicion_.any() && burials_.empty()) {
    if (waiting) {
      tend(/*idly=*/true);
    } else {
      leave();
    }
  }
}

}  // namespace tfabric::comm
