#include "transport/lane/stream_lane.h"

#include <algorithm>
#include <utility>

#include "transport/lane/flow_failure.h"
#include "transport/lane/piece_writer.h"
#include "transport/lane/record.h"

namespace tfabric::lane {

StreamLane::StreamLane(engine::Flow& flow)
    : flow_(&flow), carrier_(&flow.carrier()), stream_(&flow.stream()) {
  flow.set_handler(this, 0);
}

void StreamLane::attach(LaneEvents& events, ControlSink& control, stripe::Inbox* inbox) {
  events_ = &events;
  reader_.attach(control, inbox);
}

void StreamLane::set_direct() {
  direct_ = true;
  flow_->set_direct();
}

std::string StreamLane::remote() const { return net::to_string(flow_->remote()); }
std::string StreamLane::label() const { return "connection " + flow_->describe(); }

// --- what is sent

stripe::LaneRoom StreamLane::look(const stripe::Outgoing& message) const {
  stripe::LaneRoom room = room_for_pieces(*stream_);
  room.takes = message.on_host;
  return room;
}

std::optional<stripe::Span> StreamLane::give(const stripe::Piece& piece) {
  const auto span = write_piece(*stream_, piece);
  given_ = given_ || span;
  return span;
}

void StreamLane::flush() {
  if (std::exchange(given_, false)) {
    flow_->wake();
  }
}

bool StreamLane::say(std::span<const std::byte> record) {
  if (!send_record(*stream_, record)) {
    return false;
  }
  flow_->wake();
  return true;
}

bool StreamLane::is_drained() const {
  return !has_waiting() && (reports_reads() || stream_->stream_acked() == stream_->stream_written());
}

// --- what comes

std::size_t StreamLane::on_data(engine::Flow& /*flow*/, std::span<const std::byte> bytes) {
  mind(reader_.take(bytes));
  return bytes.size();
}

void StreamLane::on_placed(engine::Flow& /*flow*/, std::size_t bytes) { mind(reader_.placed(bytes)); }

void StreamLane::mind(const Status& taken) {
  if (!taken && is_open()) {
    events_->on_fault(*this, taken.error());
  }
}

// Not for what carries nothing but such reports, or each would cause another one; but now and then, since
// they take room, too.
void StreamLane::report() {
  const bool awaited = reader_.take_awaited(), asked = reader_.take_asked();
  if (asked && traits().answers_without_process) {
    send_report();
    return;
  }
  if (!reports_reads()) {
    if (awaited) {
      stream_->acknowledge_at_once();
    }
    return;
  }
  constexpr std::uint64_t kAtMost = 64u << 10;
  // Of a message that is longer, so that the sender knows the lane's rate and has room.
  constexpr std::uint64_t kAtOnce = 256u << 10;
  const std::uint64_t news = reader_.position() - reported_;
  if (news <= reports_ * kPositionRecordBytes && news < kAtMost) {
    return;
  }
  if (awaited || news >= kAtOnce) {
    send_report();
  } else {
    flow_->owe_report();
  }
}

void StreamLane::send_report() {
  const std::uint64_t position = reader_.position();
  if (position == reported_) {
    return;
  }
  if (flow_->send_report(encode_position(RecordType::read, {serial(), position}))) {
    reported_ = position;
    reports_ = 0;
    flow_->wake();
  }
}

bool StreamLane::on_report(std::uint64_t position) {
  ++reports_;
  answered_ = std::max(answered_, position);
  return flow_->on_report(position);
}

bool StreamLane::has_brought_all() const {
  return stream_->received_all() && !reader_.mid_record() && is_closed_in_order();
}

bool StreamLane::drain() {
  flow_->read_out();
  const auto bytes = stream_->readable();
  if (bytes.empty()) {
    return false;
  }
  const bool taken = reader_.take(bytes).ok();
  stream_->consume(static_cast<std::uint32_t>(bytes.size()));
  return taken;
}

// --- how it is

void StreamLane::retry(Instant now) {
  stream_->retry_at_once(now);
  flow_->wake();  // which sets its timer
}

Meters StreamLane::meters() const {
  const engine::ConnectionInfo info = stream_->info();
  return {.delivered = info.delivered,
          .carried = info.carried,
          .busy = info.busy,
          .network_limited = info.network_limited,
          .in_network = info.in_network,
          .round_trip = info.srtt,
          .least_round_trip = info.min_rtt,
          .timeouts = info.timeouts,
          .path_mss = info.path_limited ? info.mss : 0};
}

// --- its end

// The comm may close this lane in these calls, and open another one in its place: the object is not touched
// after them.
void StreamLane::on_progress(engine::Flow& /*flow*/) { events_->on_progress(*this); }
void StreamLane::on_link_away(engine::Flow& /*flow*/) { events_->on_away(*this); }
void StreamLane::on_moved(engine::Flow& /*flow*/) { rename(); }

void StreamLane::on_failed(engine::Flow& /*flow*/, engine::ConnectionError error) {
  error_ = error;
  events_->on_lost(*this);
}

Loss StreamLane::loss(bool in_use, Instant now) const {
  const bool silent =
      error_ == engine::ConnectionError::timed_out || error_ == engine::ConnectionError::unreachable;
  return {.why = why_failed(*flow_, error_, in_use, now),
          .reason = stream_->reset_reason(),
          .timed_out = error_ == engine::ConnectionError::timed_out,
          .refused = error_ == engine::ConnectionError::refused,
          .process_over = carrier_->has_ended(now),
          .silent_since = silent ? stream_->silent_since() : Instant{}};
}

std::string StreamLane::describe(Silence silence, bool in_use, Instant now) const {
  return why_failed(*flow_,
                    silence == Silence::unreachable ? engine::ConnectionError::unreachable
                                                    : engine::ConnectionError::timed_out,
                    in_use, now);
}

}  // namespace tfabric::lane
