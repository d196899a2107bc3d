#include "transport/tcp/lane/inbox.h"

#include <fmt/format.h>

#include <cassert>

namespace tfabric::lane {
namespace {

// The total of a message none of whose pieces has arrived. No message is as long
// (transport::kMaxMessageBytes).
constexpr std::uint32_t kUnknownTotal = ~0u;

// The errors of claim(). They are out of line so that the data path holds only the comparisons.
using Refused = Result<Inbox::Receive*>;

[[gnu::cold, gnu::noinline]] Refused other_tag(const RecordHeader& piece, std::uint32_t posted) {
  return Error{Errc::invalid_usage,
               fmt::format("message with tag {} arrived for a receive posted with tag {}: the two ranks "
                           "call different operations",
                           static_cast<std::int32_t>(piece.tag), static_cast<std::int32_t>(posted))};
}

[[gnu::cold, gnu::noinline]] Refused truncated(const RecordHeader& piece, std::size_t capacity) {
  return Error{
      Errc::invalid_usage,
      fmt::format("message truncated: {} bytes arrived for a receive of {} bytes; the two ranks call "
                  "different operations or counts",
                  piece.total, capacity)};
}

[[gnu::cold, gnu::noinline]] Refused received_before(const RecordHeader& piece) {
  return Error{Errc::internal, fmt::format("the peer sent data for receive {} twice", piece.group.value)};
}

[[gnu::cold, gnu::noinline]] Refused no_such_receive(const RecordHeader& piece, std::uint8_t count) {
  return Error{Errc::internal,
               fmt::format("the peer named receive {} of a group of {}", piece.index.value, count)};
}

[[gnu::cold, gnu::noinline]] Refused other_total(const RecordHeader& piece, std::uint32_t total) {
  return Error{Errc::internal,
               fmt::format("the peer's pieces for receive {} disagree: of {} and of {} bytes in all",
                           piece.group.value, total, piece.total)};
}

[[gnu::cold, gnu::noinline]] Refused empty_piece(const RecordHeader& piece) {
  return Error{Errc::internal,
               fmt::format("the peer sent an empty piece of a message of {} bytes for receive {}",
                           piece.total, piece.group.value)};
}

[[gnu::cold, gnu::noinline]] Refused bad_claim(const RecordHeader& piece, Coverage::Claim claim) {
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

Inbox::Inbox() : groups_(std::make_unique<std::array<Group, kMaxGroups>>()) {}

bool Inbox::post(std::span<const transport::ReceiveBuffer> buffers, Completion* completion) {
  assert(!buffers.empty() && buffers.size() <= transport::kMaxGroupedReceives);
  Group& group = slot(next_);
  if (group.open) {
    return false;
  }
  group.count = static_cast<std::uint8_t>(buffers.size());
  group.complete = 0;
  group.open = true;
  group.completion = completion;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    Receive& receive = group.receives[i];
    receive.data = static_cast<std::byte*>(buffers[i].data);
    receive.capacity = buffers[i].size;
    receive.tag = static_cast<std::uint32_t>(buffers[i].tag);
    receive.total = kUnknownTotal;
    receive.placed = 0;
    receive.complete = false;
    receive.group = next_;
    receive.coverage.reset();
  }
  next_ = next_.next();
  ++outstanding_;
  return true;
}

Result<Inbox::Receive*> Inbox::claim(const RecordHeader& piece) {
  assert(std::uint64_t{piece.offset} + piece.length <= piece.total);  // decode() refuses others
  if (!piece.group.precedes(next_)) {
    return static_cast<Receive*>(nullptr);
  }
  Group& group = slot(piece.group);
  if (!group.open || group.receives[0].group != piece.group) {
    return received_before(piece);
  }
  if (piece.index.value >= group.count) {
    return no_such_receive(piece, group.count);
  }
  Receive& receive = group.receives[piece.index.value];
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

void Inbox::placed(Receive& receive, std::uint32_t n) {
  receive.placed += n;
  assert(receive.placed <= receive.total);  // claims do not overlap
  if (receive.placed < receive.total || receive.complete) {
    return;
  }
  receive.complete = true;
  Group& group = slot(receive.group);
  if (++group.complete == group.count) {
    finish(group);
  }
}

void Inbox::finish(Group& group) {
  group.open = false;
  --outstanding_;
  for (std::size_t i = 0; i < group.count; ++i) {
    group.completion->sizes[i] = group.receives[i].total;
  }
  group.completion->finish(Completion::State::done);
}

void Inbox::fail() {
  for (Group& group : *groups_) {
    if (group.open) {
      group.open = false;
      --outstanding_;
      group.completion->finish(Completion::State::failed);
    }
  }
}

bool Inbox::uses(const void* data, std::size_t size) const {
  const auto* begin = static_cast<const std::byte*>(data);
  for (const Group& group : *groups_) {
    for (std::size_t i = 0; group.open && i < group.count; ++i) {
      const Receive& receive = group.receives[i];
      if (!receive.complete && receive.data < begin + size && begin < receive.data + receive.capacity) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace tfabric::lane
