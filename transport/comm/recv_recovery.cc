// How a receive comm survives the loss of lanes: burial, and waiting for the sender, which dials.
#include <fmt/format.h>

#include <utility>

#include "transport/comm/recv_comm.h"

namespace tfabric::comm {

using lane::Lane;

// What it still has is acknowledged, so the sender may believe it delivered.
void RecvComm::take_rest(Lane& lane) {
  while (!failed() && lane.drain()) {
  }
}

void RecvComm::on_lane_failed(Lane& lane, const Loss& loss) {
  forget(lane);
  take_rest(lane);
  mind_goodbye(context_.engine.last_turn());
  if (failed() || ended_) {
    return;
  }
  if (lane.has_brought_all()) {
    graves_.forbid(lane.serial());
    retell();  // but it may not have delivered what went the other way
  } else {
    bury(lane);
  }
  if (loss.over) {
    end(loss.why);
  } else if (!lanes_.any_carries()) {
    begin_outage(loss.why, loss.since);
  }
}

// No process is left that would acknowledge a FIN, and this one would wait for that at its own end.
void RecvComm::on_peer_ended(Error why) {
  if (!ended_) {
    lanes_.keep(why.message);  // what fails the comm later finds none
    abort_lanes();
    end(std::move(why));
  }
}

// Once the lane is fenced, it brings nothing more, and its position is final.
void RecvComm::bury(Lane& lane) {
  if (const auto position = lane.fence()) {
    on_fenced(lane, *position);
  } else {
    graves_.forbid(lane.serial());  // it has no position yet, and no other lane may be taken for it
  }
  tend();
  retell();
}

void RecvComm::on_fenced(Lane& lane, std::uint64_t position) {
  note_brought(lane);
  const stripe::Graves::Grave grave{lane.serial(), position};
  graves_.add(grave.serial, grave.position);
  lanes_.tell_all(lane::encode_position(lane::RecordType::buried, grave));
}

void RecvComm::give_up(Lane& lane, const Error& why) {
  forget(lane);
  lane.keep(why.message.empty() ? "the peer has given it up" : why.message);
  lane.shut();
  take_rest(lane);
  lane.abort();
  if (!failed() && !ended_) {
    bury(lane);
  }
}

// What adapters and kernels have confirmed to the sender may not be taken here yet, when a goodbye comes on
// another lane.
void RecvComm::on_goodbye(Error why) {
  if (!goodbye_) {
    goodbye_ = std::move(why);
    goodbye_at_ = context_.engine.last_turn();
    tend();
  }
  mind_goodbye(goodbye_at_);
}

// Kernels say where their lanes end; of pairs, completions come within a moment.
void RecvComm::mind_goodbye(Instant now) {
  constexpr Duration kMoment = std::chrono::milliseconds(5), kLongest = std::chrono::seconds(1);
  if (!goodbye_ || ended_) {
    return;
  }
  const Duration passed = now - goodbye_at_;
  const bool waits = inbox_.outstanding() > 0 && passed < kLongest &&
                     std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) TF_IN_TURN {
                       return lane->carries() && lane->traits().answers_without_process &&
                              (lane->traits().places_remotely ? passed < kMoment : !lane->is_finished());
                     });
  if (!waits) {
    end(std::move(*goodbye_));
  }
}

// The sender cannot be dialled from here, and nothing of it can arrive while no link is there.
void RecvComm::on_alone() {
  const Lane* silent = suspicion_.speaker();
  if (silent != nullptr && silent->carrier().is_away()) {
    begin_outage({Errc::remote, {}}, context_.engine.last_turn());  // the lanes say why
  }
}

void RecvComm::on_suspicion(const Lane& lane, bool suspected) {
  if (suspected) {
    if (announcer_ != nullptr && !lane.traits().places_remotely) {
      announcer_->on_ended(lane);  // another one says all again
    }
    retell();
    tend();
  } else {
    announce();
  }
}

void RecvComm::on_bury(stripe::LaneSerial serial) {
  if (Lane* living = lanes_.find(serial); living != nullptr) {
    give_up(*living, {});
  } else if (const auto position = graves_.position_of(serial)) {
    lanes_.tell_all(lane::encode_position(lane::RecordType::buried, {serial, *position}));
  } else if (!graves_.forbids(serial)) {  // else it is being fenced, which on_fenced() answers, or has ended
    // It never got here, and must not do so any more.
    graves_.add(serial, 0);
    lanes_.tell_all(lane::encode_position(lane::RecordType::buried, {serial, 0}));
  }
}

// What the dead lane may not have delivered, or the new one can.
void RecvComm::retell() {
  if (announcer_ != nullptr) {
    announce();
  } else if (inbox_.next_group() != stripe::GroupId{}) {
    told_ = {inbox_.posted().value - stripe::kEagerWindow};
    report_posted();
  }
}

void RecvComm::on_time(Instant now) {
  if (rests(now)) {
    return;
  }
  mind_goodbye(now);
  if (ended_) {
    return;
  }
  judge_suspects(now);
  tell_changed_rails();
  // A message that is too large for its receive waits for the report, and is an error then.
  constexpr Duration kLongest = std::chrono::milliseconds(20);
  if (now - told_at_ >= kLongest) {
    report_posted();
  }
  if (const Lane* lane = suspicion_.speaker(); lane != nullptr && !lane->carrier().is_away()) {
    end_outage();
  }
  if (auto over = outage_over(now)) {
    on_peer_ended(std::move(*over));  // of which lanes may be left that are silent
  }
  if (lanes_.any_carries() && !in_outage() && !suspicion_.any() && !goodbye_ &&
      (announcer_ != nullptr || told_ == inbox_.next_group())) {
    if (offered_lanes() < most_offered_) {
      tend(/*idly=*/true);
    } else {
      leave();
    }
  }
}

}  // namespace tfabric::comm
