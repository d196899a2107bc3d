#include "transport/tcp/lane/inbox.h"

#include <fmt/format.h>

#include <cassert>

namespace tfabric::lane {

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
    group.receives[i] = Receive{.data = static_cast<std::byte*>(buffers[i].data),
                                .capacity = buffers[i].size,
                                .tag = static_cast<std::uint32_t>(buffers[i].tag),
                                .group = next_};
  }
  ++next_;
  ++outstanding_;
  return true;
}

Result<Inbox::Receive*> Inbox::find(const RecordHeader& chunk) {
  // Serial-number comparison: group numbers wrap.
  if (static_cast<std::int32_t>(chunk.group - next_) >= 0) {
    return static_cast<Receive*>(nullptr);
  }
  Group& group = slot(chunk.group);
  if (!group.open || group.receives[0].group != chunk.group) {
    return Error{Errc::internal, fmt::format("the peer sent data for receive {} twice", chunk.group)};
  }
  if (chunk.index >= group.count) {
    return Error{Errc::internal,
                 fmt::format("the peer named receive {} of a group of {}", chunk.index, group.count)};
  }
  Receive& receive = group.receives[chunk.index];
  if (chunk.tag != receive.tag) {
    return Error{Errc::invalid_usage,
                 fmt::format("message with tag {} arrived for a receive posted with tag {}: the two ranks "
                             "call different operations",
                             static_cast<std::int32_t>(chunk.tag), static_cast<std::int32_t>(receive.tag))};
  }
  if (chunk.total > receive.capacity) {
    return Error{
        Errc::invalid_usage,
        fmt::format("message truncated: {} bytes arrived for a receive of {} bytes; the two ranks call "
                    "different operations or counts",
                    chunk.total, receive.capacity)};
  }
  if (receive.complete || (receive.started && receive.total != chunk.total)) {
    return Error{Errc::internal, fmt::format("the peer's chunks for receive {} disagree", chunk.group)};
  }
  receive.started = true;
  receive.total = chunk.total;
  return &receive;
}

void Inbox::placed(Receive& receive, std::uint32_t n) {
  receive.placed += n;
  assert(receive.placed <= receive.total);
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
