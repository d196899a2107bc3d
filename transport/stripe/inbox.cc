#include "transport/stripe/inbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "transport/stripe/place.h"

namespace tfabric::stripe {
namespace {

// The total of a message none of whose pieces has arrived. No message is as long
// (transport::kMaxMessageBytes).
constexpr std::uint32_t kUnknownTotal = ~0u;

// The errors of claim(). They are out of line so that the data path holds only the comparisons.
using Refused = Result<Inbox::Receive*>;

[[gnu::cold, gnu::noinline]] Refused other_tag(const Arrival& piece, std::uint32_t posted) {
  return Error{Errc::invalid_usage,
               fmt::format("message with tag {} arrived for a receive posted with tag {}: the two ranks "
                           "call different operations",
                           static_cast<std::int32_t>(piece.tag), static_cast<std::int32_t>(posted))};
}

[[gnu::cold, gnu::noinline]] Refused truncated(const Arrival& piece, std::size_t capacity) {
  return Error{
      Errc::invalid_usage,
      fmt::format("message truncated: {} bytes arrived for a receive of {} bytes; the two ranks call "
                  "different operations or counts",
                  piece.total, capacity)};
}

[[gnu::cold, gnu::noinline]] Refused received_before(const Arrival& piece) {
  return Error{Errc::internal, fmt::format("the peer sent data for receive {} twice", piece.group.value)};
}

[[gnu::cold, gnu::noinline]] Refused no_such_receive(const Arrival& piece, std::uint8_t count) {
  return Error{Errc::internal,
               fmt::format("the peer named receive {} of a group of {}", piece.index.value, count)};
}

[[gnu::cold, gnu::noinline]] Refused other_total(const Arrival& piece, std::uint32_t total) {
  return Error{Errc::internal,
               fmt::format("the peer's pieces for receive {} disagree: of {} and of {} bytes in all",
                           piece.group.value, total, piece.total)};
}

[[gnu::cold, gnu::noinline]] Refused empty_piece(const Arrival& piece) {
  return Error{Errc::internal,
               fmt::format("the peer sent an empty piece of a message of {} bytes for receive {}",
                           piece.total, piece.group.value)};
}

[[gnu::cold, gnu::noinline]] Refused within_line(const Arrival& piece) {
  return Error{Errc::internal,
               fmt::format("the peer sent a piece of the message for receive {} that is cut "
                           "within a line of {} bytes: {} bytes at {} of {}",
                           piece.group.value, kLineBytes, piece.length, piece.offset, piece.total)};
}

[[gnu::cold, gnu::noinline]] Error not_posted(const Arrival& piece, GroupId next) {
  return Error{
      Errc::internal,
      fmt::format("the peer sent a message of {} bytes for receive {}, when only those before {} were "
                  "posted: at most {} bytes may come early, for at most {} receives",
                  piece.total, piece.group.value, next.value, kMaxEagerBytes, kEagerWindow)};
}

[[gnu::cold, gnu::noinline]] Refused bad_claim(const Arrival& piece, Coverage::Claim claim) {
  if (claim == Coverage::Claim::scattered) {
    return Error{Errc::internal,
                 fmt::format("the peer's pieces for receive {} leave more gaps than pieces of {} bytes can",
                             piece.group.value, Coverage::kLeastPiece)};
  }
  return Error{Errc::internal,
               fmt::format("the peer sent bytes {} to {} of the message for receive {} twice, or some "
                           "of them",
                           piece.offset, piece.offset + piece.length - 1, piece.group.value)};
}

}  // namespace

// Finds the next group a slot that is free, and a group for it. Returns false if it is kMaxGroups ahead of
// one that is open.
bool Inbox::find_room(std::size_t receives) {
  constexpr std::size_t kFirst = 4;
  while (oldest_ != next_ && slot(oldest_) == nullptr) {
    oldest_ = oldest_.next();
  }
  if (oldest_ != next_ && receives_ - slot(oldest_)->before + receives > kMaxReceives) {
    return false;
  }
  while (open_.empty() || slot(next_) != nullptr) {
    if (open_.size() == kMaxGroups) {
      return false;
    }
    const std::vector<Group*> before =
        std::exchange(open_, std::vector<Group*>(std::max(2 * open_.size(), kFirst)));
    for (Group* group : before) {
      if (group != nullptr) {
        slot(group->receives[0].group) = group;
      }
    }
  }
  if (free_.empty()) {
    free_.push_back(groups_.emplace_back(std::make_unique<Group>()).get());
  }
  room_ = receives;
  return true;
}

Result<bool> Inbox::post(std::span<const transport::ReceiveBuffer> buffers, Completion* completion) {
  assert(!buffers.empty() && buffers.size() <= transport::kMaxGroupedReceives);
  if (!make_room(buffers.size())) {
    return false;
  }
  room_ = 0;
  Group& group = *free_.back();
  free_.pop_back();
  slot(next_) = &group;
  group.count = static_cast<std::uint8_t>(buffers.size());
  group.complete = 0;
  group.before = receives_;
  group.completion = completion;
  receives_ += static_cast<std::uint32_t>(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    Receive& receive = group.receives[i];
    receive.data = static_cast<std::byte*>(buffers[i].data);
    receive.capacity = buffers[i].size;
    receive.tag = static_cast<std::uint32_t>(buffers[i].tag);
    receive.total = kUnknownTotal;
    receive.complete = false;
    receive.group = next_;
    receive.coverage.reset();
  }
  const GroupId posted = next_;
  next_ = next_.next();
  ++outstanding_;
  if (Aside* early = aside(posted, Aside::State::whole); early != nullptr) {
    if (Status status = deliver(*early); !status) {
      return status.error();
    }
  }
  return true;
}

Inbox::Receive* Inbox::find(GroupId group, ReceiveIndex index) const {
  Group* open = open_.empty() || !group.precedes(next_) ? nullptr : slot(group);
  return open == nullptr || index.value >= open->count || open->receives[0].group != group
             ? nullptr
             : &open->receives[index.value];
}

Result<Inbox::Receive*> Inbox::claim_whole(GroupId group, ReceiveIndex index, std::uint32_t bytes) {
  Receive* receive = find(group, index);
  return receive == nullptr
             ? Result(receive)
             : claim(*receive, {group, index, receive->tag, /*offset=*/0, bytes, /*total=*/bytes});
}

Result<Inbox::Receive*> Inbox::claim(const Arrival& piece) {
  assert(std::uint64_t{piece.offset} + piece.length <= piece.total);  // decode() refuses others
  if (!piece.group.precedes(next_)) {
    return static_cast<Receive*>(nullptr);
  }
  Group* const group = open_.empty() ? nullptr : slot(piece.group);
  if (group == nullptr || group->receives[0].group != piece.group) {
    return received_before(piece);
  }
  if (piece.index.value >= group->count) {
    return no_such_receive(piece, group->count);
  }
  return claim(group->receives[piece.index.value], piece);
}

Result<Inbox::Receive*> Inbox::claim(Receive& receive, const Arrival& piece) {
  if (piece.tag != receive.tag) {
    return other_tag(piece, receive.tag);
  }
  if (piece.total > receive.capacity) {
    return truncated(piece, receive.capacity);
  }
  if (receive.complete) {
    return received_before(piece);
  }
  if (receive.total != piece.total) {
    if (receive.total != kUnknownTotal) {
      return other_total(piece, receive.total);
    }
    receive.total = piece.total;
    receive.lines_left = lines_of(piece.total);
  }
  const bool last = piece.offset + piece.length == piece.total;
  if (piece.offset % kLineBytes != 0 || (!last && piece.length % kLineBytes != 0)) {
    return within_line(piece);
  }
  if (piece.length == 0 && piece.total != 0) {
    return empty_piece(piece);
  }
  if (piece.length != 0) {
    const Coverage::Claim claim = receive.coverage.claim(piece.offset, piece.length, piece.total);
    if (claim != Coverage::Claim::granted) {
      return bad_claim(piece, claim);
    }
  }
  return &receive;
}

inline void Inbox::finish(Group& group) {
  slot(group.receives[0].group) = nullptr;
  free_.push_back(&group);
  --outstanding_;
  brings_large_ = false;
  for (std::size_t i = 0; i < group.count; ++i) {
    group.completion->sizes[i] = group.receives[i].total;
    traffic_.bytes += group.receives[i].total;
    brings_large_ = brings_large_ || group.receives[i].total > kMaxEagerBytes;
  }
  traffic_.messages += group.count;
  group.completion->finish(Completion::State::done);
}

void Inbox::placed(Receive& receive, std::uint32_t lines) {
  assert(lines <= receive.lines_left && !receive.complete);  // claims do not overlap
  receive.lines_left -= lines;
  traffic_.lines += lines;
  if (receive.lines_left > 0) {
    return;
  }
  receive.complete = true;
  Group& group = *slot(receive.group);
  if (++group.complete == group.count) {
    finish(group);
  }
}

// --- messages that come before their receives

Inbox::Aside* Inbox::aside(GroupId group, Aside::State state) {
  if (asides_ == nullptr) {
    return nullptr;
  }
  Aside& slot = (*asides_)[group.value % kEagerWindow];
  return slot.state == state && slot.message.group == group ? &slot : nullptr;
}

// The slot of a message that is arriving must not be given to a later one yet.
GroupId Inbox::posted_before_arriving() const {
  GroupId posted = next_;
  for (const Aside& aside : *asides_) {
    if (aside.state == Aside::State::arriving && aside.message.group.precedes(posted)) {
      posted = aside.message.group;
    }
  }
  return posted;
}

Result<std::byte*> Inbox::set_aside(const Arrival& message) {
  if (message.total > kMaxEagerBytes || message.length != message.total ||
      message.group.value - next_.value >= kEagerWindow || message.index.value != 0) {
    return not_posted(message, next_);
  }
  if (asides_ == nullptr) {
    asides_ = std::make_unique<Asides>();
  }
  Aside& slot = (*asides_)[message.group.value % kEagerWindow];
  if (slot.state != Aside::State::free) {
    return received_before(message).error();
  }
  slot.state = Aside::State::arriving;
  slot.message = message;
  slot.bytes.resize(message.length);
  ++arriving_;
  return slot.bytes.data();
}

Status Inbox::aside_complete(GroupId group) {
  Aside* early = aside(group, Aside::State::arriving);
  assert(early != nullptr);
  early->state = Aside::State::whole;
  --arriving_;
  return group.precedes(next_) ? deliver(*early) : Status();
}

void Inbox::drop_aside(GroupId group) {
  Aside* early = aside(group, Aside::State::arriving);
  assert(early != nullptr);
  early->state = Aside::State::free;
  --arriving_;
}

bool Inbox::has_aside() const {
  return asides_ != nullptr && std::any_of(asides_->begin(), asides_->end(), [](const Aside& aside) {
           return aside.state == Aside::State::whole;
         });
}

Status Inbox::deliver(Aside& aside) {
  aside.state = Aside::State::free;
  const Result<Receive*> receive = claim(aside.message);
  if (!receive) {
    return receive.error();
  }
  place((*receive)->data, aside.bytes.data(), aside.bytes.size());
  placed(**receive, lines_of(aside.message.length));
  return {};
}

void Inbox::fail() {
  for (Group*& group : open_) {
    if (group != nullptr) {
      free_.push_back(group);
      --outstanding_;
      std::exchange(group, nullptr)->completion->finish(Completion::State::failed);
    }
  }
}

bool Inbox::uses(const void* data, std::size_t size) const {
  const auto* begin = static_cast<const std::byte*>(data);
  for (const Group* group : open_) {
    for (std::size_t i = 0; group != nullptr && i < group->count; ++i) {
      const Receive& receive = group->receives[i];
      if (!receive.complete && receive.data < begin + size && begin < receive.data + receive.capacity) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace tfabric::stripe
