#include "transport/tcp/message/outbox.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "transport/tcp/message/record.h"

namespace tfabric::message {
namespace {

constexpr std::size_t kNoFlow = ~std::size_t{0};
// The line of NCCL's LL128 protocol: no chunk may end inside one but the last.
constexpr std::uint32_t kLine = 128;
// A big message is not handed to a flow in pieces smaller than this: it waits for room instead.
constexpr std::uint32_t kMinChunk = 32u << 10;
// A message that fits behind its header in one range of the send queue travels as a copy.
constexpr std::uint32_t kInlineMessage = stack::Connection::kInlineBytes - kRecordHeaderBytes;

}  // namespace

Outbox::Outbox(const OutboxOptions& options)
    : options_(options), messages_(kMaxMessages), flows_(options.flows) {
  assert(options.chunk_bytes % kLine == 0 && options.chunk_bytes > 0);
  for (Flow& flow : flows_) {
    flow.ring.resize(kMaxOpenChunks);
  }
}

bool Outbox::post(const void* data, std::uint32_t size, int tag, std::uint32_t group, std::uint8_t index,
                  Completion* completion, void* owner) {
  if (next_ - front_ == kMaxMessages) {
    return false;
  }
  at(next_) = Message{.data = static_cast<const std::byte*>(data),
                      .owner = owner,
                      .size = size,
                      .tag = static_cast<std::uint32_t>(tag),
                      .group = group,
                      .index = index,
                      .completion = completion};
  ++next_;
  ++count_;
  return true;
}

std::size_t Outbox::pick_flow(const std::vector<stack::Connection*>& flows, std::uint32_t want) const {
  std::size_t best = kNoFlow;
  std::uint64_t best_queued = ~std::uint64_t{0};
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows_[i].size == kMaxOpenChunks || flows[i]->send_room() < want + kRecordHeaderBytes) {
      continue;
    }
    const std::uint64_t queued = flows[i]->stream_written() - flows[i]->stream_acked();
    if (queued < best_queued) {
      best = i;
      best_queued = queued;
    }
  }
  return best;
}

std::uint32_t Outbox::chunk_size(const Message& message, std::uint32_t room) const {
  const std::uint32_t remaining = message.size - message.cut;
  std::uint32_t size = std::min(remaining, room - static_cast<std::uint32_t>(kRecordHeaderBytes));
  if (flows_.size() > 1) {
    size = std::min(size, options_.chunk_bytes);
  }
  return size == remaining ? size : size / kLine * kLine;
}

bool Outbox::send_chunk(Message& message, std::uint32_t number, std::size_t flow,
                        stack::Connection& connection) {
  const std::uint32_t size = chunk_size(message, connection.send_room());
  const RecordHeaderBytes header = encode({.type = RecordType::chunk,
                                           .index = message.index,
                                           .tag = message.tag,
                                           .group = message.group,
                                           .length = size,
                                           .total = message.size,
                                           .offset = message.cut});
  if (size <= kInlineMessage) {
    std::array<std::byte, stack::Connection::kInlineBytes> bytes;
    std::memcpy(bytes.data(), header.data(), header.size());
    if (size > 0) {
      std::memcpy(bytes.data() + header.size(), message.data + message.cut, size);
    }
    if (!connection.send_inline(std::span(bytes).first(header.size() + size))) {
      return false;
    }
  } else {
    // Two ranges go or none: a header without its bytes would end the framing.
    if (!connection.can_send_ranges(2) || !connection.send_inline(header)) {
      return false;
    }
    const bool sent = connection.send({message.data + message.cut, size, message.owner});
    assert(sent);
    static_cast<void>(sent);
  }
  Flow& open = flows_[flow];
  open.ring[(open.head + open.size++) & (kMaxOpenChunks - 1)] = {connection.stream_written(), number};
  message.cut += size;
  ++message.chunks_open;
  message.all_cut = message.cut == message.size;
  return true;
}

bool Outbox::pump(std::vector<stack::Connection*>& flows) {
  bool any = false;
  while (cut_ != next_) {
    Message& message = at(cut_);
    const std::size_t flow = pick_flow(flows, std::min(message.size - message.cut, kMinChunk));
    if (flow == kNoFlow || !send_chunk(message, cut_, flow, *flows[flow])) {
      return any;
    }
    any = true;
    if (message.all_cut) {
      ++cut_;
    }
  }
  return any;
}

void Outbox::on_acked(std::size_t flow, std::uint64_t stream_acked) {
  Flow& open = flows_[flow];
  while (open.size > 0 && open.ring[open.head].stream_end <= stream_acked) {
    const std::uint32_t number = open.ring[open.head].message;
    open.head = (open.head + 1) & (kMaxOpenChunks - 1);
    --open.size;
    chunk_acked(number);
  }
}

void Outbox::chunk_acked(std::uint32_t number) {
  Message& message = at(number);
  assert(message.chunks_open > 0);
  if (--message.chunks_open > 0 || !message.all_cut || message.completion == nullptr) {
    return;
  }
  message.completion->sizes[0] = message.size;
  message.completion->finish(Completion::State::done);
  message.completion = nullptr;
  --count_;
  while (front_ != cut_ && at(front_).completion == nullptr) {
    ++front_;
  }
}

void Outbox::fail() {
  for (std::uint32_t number = front_; number != next_; ++number) {
    if (Message& message = at(number); message.completion != nullptr) {
      message.completion->finish(Completion::State::failed);
      message.completion = nullptr;
      --count_;
    }
  }
  front_ = cut_ = next_;
}

bool Outbox::uses(const void* data, std::size_t size) const {
  const auto* begin = static_cast<const std::byte*>(data);
  for (std::uint32_t number = front_; number != next_; ++number) {
    const Message& message = messages_[number % kMaxMessages];
    if (message.completion != nullptr && message.data < begin + size && begin < message.data + message.size) {
      return true;
    }
  }
  return false;
}

}  // namespace tfabric::message
