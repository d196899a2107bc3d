#include "tests/wire/emulator/direction.h"

#include <algorithm>
#include <optional>

#include "tests/wire/emulator/packet.h"

namespace tfabric::wire {

Direction::Direction(FrameStore& store, SeededRandom random)
    : store_(&store),
      loss_(random.fork()),
      corrupts_(random.fork()),
      duplicates_(random.fork()),
      jitters_(random.fork()),
      reorders_(random.fork()) {}

Direction::~Direction() { release_all(); }

void Direction::drop(const Frame& frame, std::uint64_t& cause) {
  ++cause;
  store_->release(frame);
}

void Direction::release_all() {
  std::uint64_t& cause = statistics_.dropped.down;
  for (; !shaped_.empty(); shaped_.pop()) {
    drop(shaped_.top().frame.frame, cause);
  }
  shaped_bytes_ = 0;
  shaper_.clear();
  for (; !queue_.empty(); queue_.pop()) {
    drop(queue_.front().frame, cause);
  }
  queued_bytes_ = 0;
  for (; !on_the_way_.empty(); on_the_way_.pop()) {
    drop(on_the_way_.front().frame, cause);
  }
  for (; !late_.empty(); late_.pop()) {
    drop(late_.top().frame.frame, cause);
  }
}

void Direction::set(const Impairments& impairments, Instant now) {
  serve(now);
  if (impairments.link == LinkState::down) {
    release_all();
  }
  if (impairments_.link == LinkState::freeze) {
    link_free_ = std::max(link_free_, now);  // frames that waited for the link start now, not in the past
  }
  impairments_ = impairments;
}

// --- arrival

void Direction::offer(Frame frame, Instant now) {
  ++statistics_.offered;
  statistics_.offered_bytes += frame.size;
  if (impairments_.link == LinkState::down) {
    drop(frame, statistics_.dropped.down);
    return;
  }
  serve(now);
  if (impairments_.flow_rate != 0) {
    hold_back(frame, now);
  } else {
    enter(frame, now);
  }
}

// Delays the frame by the rate of its flow.
void Direction::hold_back(Frame frame, Instant now) {
  const std::optional<Instant> at = shaper_.admit(flow_hash(store_->head(frame)), frame.size,
                                                  impairments_.flow_rate, impairments_.queue_bytes, now);
  if (!at) {
    drop(frame, statistics_.dropped.flow);
    return;
  }
  shaped_bytes_ += frame.size;
  shaped_.push({{*at, frame}, next_shaped_++});
}

void Direction::enter(Frame frame, Instant now) {
  if (impairments_.rate == 0 && impairments_.link == LinkState::up && queue_.empty()) {
    propagate(frame, now);
  } else {
    enqueue(frame, now);
  }
}

void Direction::enqueue(Frame frame, Instant now) {
  if (queued_bytes_ + frame.size > impairments_.queue_bytes) {
    drop(frame, statistics_.dropped.queue);
    return;
  }
  if (impairments_.ecn_bytes != 0 && queued_bytes_ > impairments_.ecn_bytes) {
    mark(frame);
  }
  queued_bytes_ += frame.size;
  queue_.push({now, frame});
  serve_queue(now);
}

void Direction::mark(const Frame& frame) {
  if (mark_congestion(store_->writable(frame))) {
    ++statistics_.marked;
  }
}

// --- the queue

// Processes all events up to now, in order.
void Direction::serve(Instant now) {
  while (!shaped_.empty() && shaped_.top().frame.at <= now) {
    const TimedFrame next = shaped_.top().frame;
    shaped_.pop();
    shaped_bytes_ -= next.frame.size;
    serve_queue(next.at);
    enter(next.frame, next.at);
  }
  serve_queue(now);
}

Instant Direction::head_start() const { return std::max(link_free_, queue_.front().at); }

// A frame leaves the queue when the transmission of its first bit begins.
void Direction::serve_queue(Instant now) {
  if (impairments_.link != LinkState::up) {
    return;
  }
  while (!queue_.empty() && head_start() <= now) {
    const Frame frame = queue_.front().frame;
    occupy_link(frame.size, head_start());
    queue_.pop();
    queued_bytes_ -= frame.size;
    propagate(frame, link_free_);
  }
}

void Direction::occupy_link(std::uint32_t bytes, Instant start) {
  if (start != link_free_ || impairments_.rate == 0) {
    link_free_picoseconds_ = 0;
  }
  link_free_ = start;
  if (impairments_.rate != 0) {
    // In whole nanoseconds, the rounding of short transmissions would change the rate by several percent.
    constexpr std::uint64_t kPicoseconds = 1'000'000'000'000;
    link_free_picoseconds_ += std::uint64_t{bytes} * 8 * kPicoseconds / impairments_.rate;
    link_free_ += Duration(static_cast<Duration::rep>(link_free_picoseconds_ / 1000));
    link_free_picoseconds_ %= 1000;
  }
}

// --- propagation

void Direction::propagate(Frame frame, Instant departed) {
  switch (loss_.next(impairments_)) {
    case LossModel::Verdict::pass:
      break;
    case LossModel::Verdict::lost:
      drop(frame, statistics_.dropped.loss);
      return;
    case LossModel::Verdict::lost_in_burst:
      drop(frame, statistics_.dropped.burst);
      return;
  }
  if (!damage(frame)) {
    drop(frame, statistics_.dropped.no_buffer);
    return;
  }
  if (impairments_.duplicate > 0 && duplicates_.chance(impairments_.duplicate)) {
    duplicate(frame, departed);
  }
  schedule(frame, departed);
}

// Returns false if it cannot be changed.
bool Direction::damage(const Frame& frame) {
  if (impairments_.corrupt <= 0 || !corrupts_.chance(impairments_.corrupt)) {
    return true;
  }
  const std::span<std::byte> bytes = store_->writable(frame);
  if (bytes.empty()) {
    return false;
  }
  statistics_.corrupted += corrupt(bytes, corrupts_) ? 1 : 0;
  return true;
}

void Direction::duplicate(const Frame& frame, Instant departed) {
  if (const std::optional<Frame> copy = store_->copy(frame)) {
    ++statistics_.duplicated;
    schedule(*copy, departed);
  }
}

void Direction::schedule(const Frame& frame, Instant departed) {
  Instant at = departed + impairments_.delay;
  if (impairments_.jitter > Duration::zero()) {
    at += jitters_.between(Duration::zero(), impairments_.jitter);
  }
  if (impairments_.reorder > 0 && reorders_.chance(impairments_.reorder)) {
    ++statistics_.reordered;
    late_.push({{at + impairments_.reorder_delay, frame}, next_late_++});
    return;
  }
  last_arrival_ = at = std::max(at, last_arrival_);
  on_the_way_.push({at, frame});
}

// --- delivery

std::size_t Direction::take(std::span<Frame> out, Instant now) {
  if (impairments_.link == LinkState::freeze) {
    return 0;
  }
  serve(now);
  std::size_t count = 0;
  while (count < out.size()) {
    const Instant in_order = on_the_way_.empty() ? kNever : on_the_way_.front().at;
    const Instant late = late_.empty() ? kNever : late_.top().frame.at;
    if (std::min(in_order, late) > now) {
      break;
    }
    Frame& frame = out[count++];
    if (in_order <= late) {
      frame = on_the_way_.front().frame;
      on_the_way_.pop();
    } else {
      frame = late_.top().frame.frame;
      late_.pop();
    }
    ++statistics_.delivered;
    statistics_.delivered_bytes += frame.size;
  }
  return count;
}

Instant Direction::next_event() const {
  if (impairments_.link == LinkState::freeze) {
    return kNever;
  }
  Instant next = kNever;
  if (!shaped_.empty()) {
    next = shaped_.top().frame.at;
  }
  if (!queue_.empty()) {
    next = std::min(next, head_start());
  }
  if (!on_the_way_.empty()) {
    next = std::min(next, on_the_way_.front().at);
  }
  if (!late_.empty()) {
    next = std::min(next, late_.top().frame.at);
  }
  return next;
}

Statistics Direction::statistics() const {
  Statistics statistics = statistics_;
  statistics.queued = queue_.size() + shaped_.size();
  statistics.queued_bytes = queued_bytes_ + shaped_bytes_;
  statistics.on_the_way = on_the_way_.size() + late_.size();
  return statistics;
}

}  // namespace tfabric::wire
