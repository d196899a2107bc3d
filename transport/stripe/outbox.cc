#include "transport/stripe/outbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "transport/stripe/place.h"

namespace tfabric::stripe {

Outbox::Outbox(const OutboxOptions& options) : options_(options), messages_(kMaxMessages) {
  assert(options.eager_bytes <= kMaxEagerBytes);
}

Outbox::~Outbox() {
  assert(std::none_of(messages_.begin(), messages_.end(),
                      [](const Message& message) { return message.copy != nullptr; }));
}

void Outbox::post(const Outgoing& outgoing, Completion* completion) {
  assert(!full());
  Message& message = at(next_);
  assert(message.copy == nullptr);
  message = {.what = outgoing, .cut = 0, .lines_left = lines_of(outgoing.size), .completion = completion};
  ++next_;
  ++unconfirmed_;
  ++undone_;
  if (copy(message)) {
    done(message, Completion::State::done);
  }
}

// Returns true if the message's memory is not needed any more.
bool Outbox::copy(Message& message) {
  Outgoing& what = message.what;
  if (options_.copies == nullptr || what.size > CopyPool::kMostBytes) {
    return false;
  }
  if (what.size == 0) {
    return true;
  }
  message.copy = options_.copies->take(what.size);
  if (message.copy == nullptr) {
    return false;
  }
  place(message.copy, static_cast<const std::byte*>(what.data), what.size);
  what.data = message.copy;
  what.owner = nullptr;
  return true;
}

void Outbox::drop_copy(Message& message) {
  if (message.copy != nullptr) {
    options_.copies->give(std::exchange(message.copy, nullptr), message.what.size);
  }
}

void Outbox::done(Message& message, Completion::State state) {
  message.completion->sizes[0] = message.what.size;
  std::exchange(message.completion, nullptr)->finish(state);
  --undone_;
}

void Outbox::allow(GroupId posted) {
  if (posted_.precedes(posted)) {
    posted_ = posted;
  }
}

bool Outbox::may_deal(const Message& message) const {
  const GroupId group = message.what.group;
  return !options_.waits_for_receives || group.precedes(posted_) ||
         (message.what.size <= options_.eager_bytes && group.value - posted_.value < kEagerWindow);
}

std::optional<GroupId> Outbox::waits_behind_small() const {
  if (!waits_for_receive() || cut_ == 0 || messages_[(cut_ - 1) % kMaxMessages].what.size > kMaxEagerBytes) {
    return std::nullopt;
  }
  return messages_[cut_ % kMaxMessages].what.group;
}

// Gives a lane as much of the part as it takes, and returns how much; nothing if no lane takes any now.
std::optional<std::uint32_t> Outbox::deal(const Ledger::Gap& part, std::span<Outlet> outlets) {
  // A small message is one record, since it may have to be set aside.
  const Outgoing& message = at(part.message).what;
  const auto to = dealer_.next(outlets, message, part.length, /*whole=*/message.size <= kMaxEagerBytes);
  if (!to || ledgers_[to->lane].full()) {
    return std::nullopt;
  }
  const auto span = outlets[to->lane].lane->give({&message, part.offset, to->size});
  if (!span) {
    return std::nullopt;
  }
  outlets[to->lane].probe = false;
  ledgers_[to->lane].add({*span, part.message, part.offset, to->size});
  return to->size;
}

inline bool Outbox::deal_new(std::span<Outlet> outlets) {
  Message& message = at(cut_);
  if (!may_deal(message)) {
    return false;
  }
  const auto size = deal({cut_, message.cut, message.what.size - message.cut}, outlets);
  if (!size) {
    return false;
  }
  message.cut += *size;
  if (message.cut == message.what.size) {
    ++cut_;
  }
  return true;
}

bool Outbox::deal_gap(std::span<Outlet> outlets) {
  Ledger::Gap& gap = gaps_.back();
  const auto size = deal(gap, outlets);
  if (!size) {
    return false;
  }
  gap.offset += *size;
  gap.length -= *size;
  if (gap.length == 0) {
    gaps_.pop_back();
  }
  return true;
}

bool Outbox::pump_some(std::span<Outlet> outlets) {
  if (ledgers_.size() < outlets.size()) {
    ledgers_.resize(outlets.size());
  }
  dealer_.look(outlets);
  bool any = false;
  while (!is_dealt() && (gaps_.empty() ? deal_new(outlets) : deal_gap(outlets))) {
    any = true;
  }
  return any;
}

void Outbox::on_confirmed(LaneId lane, std::uint64_t position) {
  if (lane.value < ledgers_.size()) {  // else it has never had a piece
    confirmations_ += ledgers_[lane.value].reach(position) ? 1 : 0;
    ledgers_[lane.value].confirm(
        position, [this](const Ledger::Entry& entry) { lines_there(entry.message, lines_of(entry.length)); });
  }
}

void Outbox::lines_there(std::uint32_t number, std::uint32_t lines) {
  Message& message = at(number);
  assert(message.lines_left >= lines);
  message.lines_left -= lines;
  ++confirmations_;
  traffic_.lines += lines;
  if (message.lines_left > 0) {
    return;
  }
  ++traffic_.messages;
  traffic_.bytes += message.what.size;
  --unconfirmed_;
  drop_copy(message);
  if (message.completion != nullptr) {
    done(message, Completion::State::done);
  }
  while (front_ != cut_ && at(front_).lines_left == 0) {
    ++front_;
  }
}

Status Outbox::settle(LaneId lane, std::uint64_t position) {
  if (lane.value >= ledgers_.size()) {
    return {};  // it has never had a piece
  }
  Ledger& ledger = ledgers_[lane.value];
  const bool possible = ledger.settle(
      position, [this](std::uint32_t message, std::uint32_t lines) { lines_there(message, lines); },
      [this](const Ledger::Gap& gap) {
        gaps_.push_back(gap);
        dealt_again_ += gap.length;
      });
  // The oldest message's first gap is dealt next: NCCL waits for the oldest.
  std::sort(gaps_.begin(), gaps_.end(), [this](const Ledger::Gap& a, const Ledger::Gap& b) {
    return std::pair(a.message - front_, a.offset) > std::pair(b.message - front_, b.offset);
  });
  if (!possible) {
    return Error{Errc::remote,
                 fmt::format("data that the peer had acknowledged is lost with its connection: it has {} "
                             "bytes of it, and had acknowledged {}",
                             position, ledger.confirmed())};
  }
  return {};
}

void Outbox::renew(LaneId lane) {
  if (lane.value < ledgers_.size()) {
    assert(ledgers_[lane.value].empty());
    ledgers_[lane.value].reset();
  }
}

void Outbox::fail() {
  for (std::uint32_t number = front_; number != next_; ++number) {
    if (Message& message = at(number); message.completion != nullptr) {
      done(message, Completion::State::failed);
    }
  }
  for (Ledger& ledger : ledgers_) {
    ledger.reset();
  }
  gaps_.clear();
  front_ = cut_ = next_;
  unconfirmed_ = 0;
}

void Outbox::drop_copies() {
  for (Message& message : messages_) {
    drop_copy(message);
  }
}

void Outbox::leave_copies() {
  for (Message& message : messages_) {
    message.copy = nullptr;
  }
}

bool Outbox::awaits_confirmation() const {
  bool any = !gaps_.empty();
  for (const Ledger& ledger : ledgers_) {  // a few
    any = any || !ledger.empty();
  }
  return any;
}

bool Outbox::uses(const void* data, std::size_t size) const {
  const auto* begin = static_cast<const std::byte*>(data);
  for (std::uint32_t number = front_; number != next_; ++number) {
    const Message& message = messages_[number % kMaxMessages];
    if (message.completion != nullptr && message.data() < begin + size &&
        begin < message.data() + message.what.size) {
      return true;
    }
  }
  return false;
}

}  // namespace tfabric::stripe
