// How a receive comm survives the loss of lanes: burial, and waiting for the sender, which dials.
#include <fmt/format.h>

#include <utility>

#include "transport/tcp/comm/recv_comm.h"

namespace tfabric::tcp {

void RecvComm::on_lane_failed(stripe::LaneId lane, engine::Flow& flow, const Loss& loss) {
  stack::ByteStream& stream = flow.stream();
  // They are acknowledged, so the sender may believe them delivered.
  for (auto bytes = stream.readable(); !bytes.empty(); bytes = stream.readable()) {
    on_data(flow, bytes);
    stream.consume(static_cast<std::uint32_t>(bytes.size()));
  }
  if (failed() || ended_) {
    return;
  }
  if (stream.received_all() && !at(lane).reader->mid_record() && !flow.by_kernel()) {
    graves_.forbid(at(lane).serial);
    retell();  // it has brought everything, but may not have delivered what went the other way
  } else {
    bury(lane);
  }
  if (loss.over) {
    end(loss.why);
  } else if (!any_carries()) {
    begin_outage(loss.why, loss.since);
  }
}

// No process is left that would acknowledge a FIN, and this one would wait for that at its own end.
void RecvComm::on_peer_ended(Error why) {
  if (!ended_) {
    keep_lanes(why.message);  // what fails the comm later finds none
    abort_lanes();
    end(std::move(why));
  }
}

// From here on the lane brings nothing more, and its position is final.
void RecvComm::bury(stripe::LaneId lane) {
  const LaneEnd& end = at(lane);
  const stripe::Graves::Grave grave{end.serial, end.reader->bury()};
  graves_.add(grave.serial, grave.position);
  tell_all(lane::encode_position(lane::RecordType::buried, grave));
  retell();
}

void RecvComm::give_up(stripe::LaneId lane, const Error& why) {
  engine::Flow& flow = drop(lane);
  keep(flow, why.message.empty() ? "the peer has given it up" : why.message);
  flow.abort();
  bury(lane);
}

// The sender cannot be dialled from here, and nothing of it can arrive while no link is there.
void RecvComm::on_alone() {
  const auto silent = speaker();
  if (silent && at(*silent).flow->carrier().is_away()) {
    begin_outage({Errc::remote, {}}, context_.engine.last_turn());  // the lanes say why
  }
}

void RecvComm::on_suspicion(stripe::LaneId /*lane*/, bool suspected) {
  if (suspected) {
    retell();
  }
}

void RecvComm::on_bury(stripe::LaneSerial serial) {
  if (const auto living = find(serial)) {
    give_up(*living, {});
  } else if (const auto position = graves_.position_of(serial)) {
    tell_all(lane::encode_position(lane::RecordType::buried, {serial, *position}));
  } else if (!graves_.forbids(serial)) {
    // It never got here, and must not do so any more.
    graves_.add(serial, 0);
    tell_all(lane::encode_position(lane::RecordType::buried, {serial, 0}));
  }
}

// What the dead lane may not have delivered, or the new one can.
void RecvComm::retell() {
  if (announces_) {
    repeat_announcements();
  } else if (inbox_.next_group() != stripe::GroupId{}) {
    told_ = {inbox_.posted().value - stripe::kEagerWindow};
    report_posted();
  }
}

void RecvComm::repeat_announcements() {
  const auto lane = speaker();
  if (!lane) {
    return;
  }
  for (const auto& [group, record] : announcements_) {
    tell(*lane, record);
  }
}

void RecvComm::on_time(Instant now) {
  judge_suspects(now);
  // A message that is too large for its receive waits for the report, and is an error then.
  constexpr Duration kLongest = std::chrono::milliseconds(20);
  if (now - told_at_ >= kLongest) {
    report_posted();
  }
  if (const auto lane = speaker(); lane && !at(*lane).flow->carrier().is_away()) {
    end_outage();
  }
  if (auto over = outage_over(now)) {
    on_peer_ended(std::move(*over));  // of which lanes may be left that are silent
  }
  if (any_carries() && !in_outage() && !watching() && (announces_ || told_ == inbox_.next_group())) {
    leave();
  }
}

}  // namespace tfabric::tcp
