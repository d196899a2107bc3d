#include "transport/rdma/pairs/pair_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "transport/lane/record.h"
#include "transport/rdma/pairs/port_carrier.h"
#include "transport/stripe/inbox.h"

namespace tfabric::rdma::pairs {
namespace {

// A pair that nothing shows to be alive is probed so often while something is expected of it.
constexpr Duration kHeartbeat = std::chrono::seconds(1);
// Work requests of a piece, or of a record, and some for credit.
constexpr std::uint32_t kRoom = 8;

}  // namespace

PairLane::PairLane(PortCarrier& carrier, std::shared_ptr<Pair> pair, const Ends& ends)
    : carrier_(&carrier), pair_(std::move(pair)), ends_(ends) {
  pair_->set_user(this);
  pair_->make();
}

PairLane::~PairLane() {
  if (traffic_ != nullptr) {
    --traffic_->lanes;
  }
  pair_->set_user(nullptr);
  pair_->close();
  carrier_->forget(*this);
}

void PairLane::attach(lane::LaneEvents& events, lane::ControlSink& control, stripe::Inbox* inbox) {
  events_ = &events;
  control_ = &control;
  inbox_ = inbox;
}

engine::Carrier& PairLane::carrier() const { return *carrier_; }
std::string PairLane::remote() const { return remote_; }
std::string PairLane::label() const {
  return fmt::format("queue pair {:#x} of {}", pair_->here().queue_pair.number, carrier_->name());
}

// The receiver's end answers when it is ready: the peer may write as soon as it has the answer.
std::span<const std::byte> PairLane::text() const {
  const bool is_due = ends_.offer ? pair_->is_ready() : made_;
  return is_due ? std::span(text_) : std::span<const std::byte>();
}

Status PairLane::on_answer(std::span<const std::byte> answer) {
  const std::optional<PairEnd> there = decode_end(answer);
  if (!there || ends_.offer || !made_ || answered_) {
    return Error{Errc::internal, fmt::format("{}: the peer's answer is malformed", name())};
  }
  answered_ = true;
  connect(*there);
  return {};
}

// --- what is sent

stripe::LaneRoom PairLane::look(const stripe::Outgoing& message) const {
  if (ends_.announced == nullptr) {
    return {.takes = false};
  }
  sight_ = {.message = &message,
            .place = ends_.announced->find(message.group, message.index, ends_.rail),
            .key = message.size == 0 ? std::uint32_t{0} : carrier_->memory().key_of(message.registered),
            .has_room = has_room(kRoom)};
  return {.queued = queued_, .room = sight_.has_room ? kMostBytes : 0, .takes = sight_.place && sight_.key};
}

bool PairLane::has_room(std::uint32_t works) const {
  const std::uint32_t used = batch_.count > 0 ? 1 : 0;
  if (pair_->is_ready() && pair_->has_window(used + 1) && pair_->room() >= works) {
    return true;
  }
  expected_ = true;
  return false;
}

// Of a group of several, or by several work requests, the size alone says too little.
bool PairLane::takes_whole(const stripe::Piece& piece, const lane::AnnouncedReceives::Place& place) const {
  const std::uint32_t most = carrier_->largest_whole();
  return piece.length == piece.message->size && place.count == 1 && piece.length <= most;
}

// Whole messages of a group with several receives: nothing is received before all are there.
bool PairLane::joins_batch(const stripe::Piece& piece, const lane::AnnouncedReceives::Place& place) const {
  const stripe::Outgoing& message = *piece.message;
  const bool fits = batch_.count == 0 || (batch_.group == message.group.value && batch_.count < Batch::kMost);
  return place.count > 1 && piece.length == message.size && message.size <= place.size &&
         message.size <= carrier_->largest_write() && fits;
}

// What was said of the batch goes out behind its data.
void PairLane::close_batch() {
  if (batch_.count == 0 || !pair_->is_ready()) {
    return;
  }
  pair_->next_notice().put(batch_);
  pair_->stage_notice();
  pair_->stage_end({.kind = Kind::batch, .slot = pair_->next_slot()});
  lengths_.push_back(batch_bytes_);
  batch_ = {};
  batch_bytes_ = 0;
}

// A batch waits for the rest of its group, whichever lanes that takes, but not for longer than a tick.
void PairLane::flush() {
  if (batch_.count > 0 && batch_.count < Batch::kMost && ends_.announced->given({batch_.group}) < batch_of_) {
    watch();
    return;
  }
  close_batch();
  post();
}

// A message that is too large for its receive is not written: the notice says so.
std::optional<stripe::Span> PairLane::give(const stripe::Piece& piece) {
  const stripe::Outgoing& message = *piece.message;
  const std::uint32_t largest = carrier_->largest_write();
  assert(sight_.message == &message);
  if (!sight_.place || !sight_.key || !sight_.has_room ||
      (piece.length > largest && !has_room(kRoom + piece.length / largest))) {
    return std::nullopt;
  }
  const lane::AnnouncedReceives::Place& place = *sight_.place;
  const bool fits = message.size <= place.size;
  const bool batched = joins_batch(piece, place);
  if (!batched) {
    close_batch();
  }
  Work data{.local = reinterpret_cast<std::uint64_t>(piece.data()),
            .length = piece.length,
            .lkey = *sight_.key,
            .remote = place.address + piece.offset,
            .rkey = place.key};
  std::uint64_t end = 0;
  queued_ += piece.length;
  if (place.count > 1 && piece.offset == 0) {
    ends_.announced->note_given(message.group);
  }
  if (batched) {
    if (piece.length > 0) {
      pair_->stage(data);
    }
    batch_.group = message.group.value;
    batch_.sizes[batch_.count] = message.size;
    batch_.indices[batch_.count++] = message.index.value;
    batch_bytes_ += piece.length;
    batch_of_ = place.count;
    end = pair_->given() + 1;
    return stripe::Span{end - 1, end, /*whole=*/true};
  }
  if (fits && takes_whole(piece, place)) {
    end = pair_->stage_end(data,
                           {.kind = Kind::whole, .group = static_cast<std::uint16_t>(message.group.value)});
  } else {
    for (std::uint32_t left = fits ? piece.length : 0; left > 0; left -= data.length) {
      data.length = std::min(left, largest);
      pair_->stage(data);
      data.local += data.length;
      data.remote += data.length;
    }
    pair_->next_notice().put(Descriptor{.group = message.group.value,
                                        .offset = piece.offset,
                                        .length = piece.length,
                                        .total = message.size,
                                        .tag = message.tag,
                                        .index = message.index.value});
    pair_->stage_notice();
    end = pair_->stage_end({.kind = Kind::piece, .slot = pair_->next_slot()});
  }
  lengths_.push_back(piece.length);
  return stripe::Span{end - 1, end, /*whole=*/true};
}

bool PairLane::say(std::span<const std::byte> record) {
  if (record.size() > kMaxRecordBytes || !has_room(kRoom)) {
    return false;
  }
  close_batch();
  Notice& notice = pair_->next_notice();
  std::memcpy(notice.body.data(), record.data(), record.size());
  notice.length = static_cast<std::uint32_t>(record.size());
  pair_->stage_notice();
  pair_->stage_end({.kind = Kind::record, .slot = pair_->next_slot()});
  lengths_.push_back(0);
  const auto header = lane::decode(record.first<lane::kRecordHeaderBytes>());
  if (header && header->type == lane::RecordType::ask) {
    asked_ = pair_->given();
  }
  post();
  return true;
}

bool PairLane::announce(const lane::AnnouncementBlock& block, std::uint32_t number) {
  const std::uint32_t count = block.slots[lane::slot_of(number)].count;
  if (!pair_->is_ready() || pair_->room() < kRoom + count) {
    expected_ = true;
    return false;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    pair_->stage_announcement(number + i);
  }
  return true;
}

inline void PairLane::count_confirmed() {
  for (; counted_ < pair_->confirmed(); ++counted_) {
    queued_ -= lengths_.front();
    delivered_ += lengths_.front();
    traffic_->sent_bytes += lengths_.front();
    lengths_.pop_front();
  }
}

// --- how it is

// Adapters tell of nothing before their own retries are over, which takes seconds.
std::uint32_t PairLane::timeouts_in_row() const {
  const Duration silent = carrier_->now() - pair_->progressed_at();
  return pair_->is_awaited() && silent > Duration::zero() ? static_cast<std::uint32_t>(silent / patience())
                                                          : 0;
}

// A work request is completed when all of it has come: a large one takes long on a slow port, of which too
// little is known as yet.
Duration PairLane::patience() const {
  constexpr Duration kOfByte = std::chrono::nanoseconds(80);  // at 100 Mbit/s
  const std::uint64_t largest = std::min<std::uint64_t>(queued_, carrier_->largest_write());
  const Duration known = pair_->patience();
  return pair_->is_measured() ? known : known + static_cast<Duration::rep>(largest) * kOfByte;
}

std::uint32_t PairLane::probes_unanswered() const { return awaits_peer() ? 0 : timeouts_in_row(); }

void PairLane::forgive(Duration pause, Instant /*now*/) { pair_->forgive(pause); }

lane::Meters PairLane::meters() const {
  return {.delivered = delivered_, .carried = delivered_, .busy = pair_->awaited_for()};
}

lane::Loss PairLane::loss(bool /*in_use*/, Instant now) const {
  return {.why = why_,
          .reason = {},
          .timed_out = silent_,
          .process_over = carrier_->has_ended(now),
          .silent_since = silent_ ? pair_->progressed_at() : Instant{}};
}

std::string PairLane::describe(Silence /*silence*/, bool /*in_use*/, Instant now) const {
  if (carrier_->is_away()) {
    return carrier_->why_away(now);
  }
  return fmt::format("nothing was completed for {} ms", in_milliseconds(now - pair_->progressed_at()));
}

// --- turns

void PairLane::note() {
  if (!std::exchange(noted_, true)) {
    carrier_->note(*this);
  }
}

void PairLane::on_news() {
  news_ = true;
  note();
}

void PairLane::on_room() {
  if (std::exchange(expected_, false)) {
    on_news();
  }
}

void PairLane::on_made() {
  made_ = true;
  text_ = encode(pair_->here());
  rename();
  if (ends_.offer) {
    connect(*ends_.offer);
  }
  on_news();
}

void PairLane::on_ready() { on_news(); }

void PairLane::connect(const PairEnd& there) {
  traffic_ = &carrier_->traffic_with(there.port.gid);
  ++traffic_->lanes;
  remote_ = net::to_string(traffic_->remote);
  pair_->connect(there);
}

// The failure may occur inside a call by the comm, so on_lost() is called later, from on_turn().
void PairLane::on_failed(std::string why, bool silent) {
  failed_ = true;
  silent_ = silent;
  why_ = std::move(why);
  note();
}

void PairLane::on_fenced() {
  if (is_fencing()) {
    fenced(*events_, pair_->taken());
  }
}

std::optional<std::uint64_t> PairLane::begin_fence() {
  pair_->close();
  return pair_->is_fenced() ? std::optional(pair_->taken()) : std::nullopt;
}

void PairLane::on_turn() {
  noted_ = false;
  count_confirmed();
  watch();  // the pair may have given credit
  if (events_ == nullptr || !is_open()) {
    return;
  }
  if (failed_) {
    events_->on_lost(*this);
    return;
  }
  if (std::exchange(news_, false)) {
    events_->on_progress(*this);
  }
}

// Posts what was staged, and watches what becomes of it.
void PairLane::post() {
  pair_->post();
  watch();
}

void PairLane::watch() {
  if (!watched_ && (pair_->is_awaited() || asked_ || batch_.count > 0)) {
    watched_ = true;
    carrier_->watch(*this);
  }
}

bool PairLane::on_tick() {
  if (batch_.count > 0 && is_open()) {
    close_batch();
    pair_->post();
  }
  if (asked_ && pair_->credited() >= *asked_) {
    asked_.reset();
    on_news();  // the peer's write makes no event
  }
  const bool awaited = pair_->is_awaited();
  watched_ = is_open() && !failed_ && (awaited || asked_);
  if (watched_ && awaited) {
    if (timeouts_in_row() > 0) {
      expected_ = true;
      on_news();  // its comm looks
    }
  }
  return watched_;
}

void PairLane::on_link_away() {
  if (is_open() && events_ != nullptr) {
    events_->on_away(*this);
  }
}

// What the peer had sent before it left was acknowledged before, and has come since.
void PairLane::on_round(Instant now) {
  if (!is_open() || failed_) {
    return;
  }
  if (is_closed_in_order() && !quiet_) {
    quiet_ = std::exchange(left_, true);
    on_news();
  }
  const std::uint32_t refusals = ends_.announced != nullptr ? ends_.announced->refusals() : 0;
  const bool waits = inbox_ != nullptr ? inbox_->outstanding() > 0 : refusals != refusals_;
  if (waits && !pair_->is_awaited() && pair_->is_ready() && now - pair_->progressed_at() >= kHeartbeat) {
    refusals_ = refusals;
    pair_->probe();
    post();
  }
}

}  // namespace tfabric::rdma::pairs
