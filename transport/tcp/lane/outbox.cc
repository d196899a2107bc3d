#include "transport/tcp/lane/outbox.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "transport/tcp/lane/record.h"

namespace tfabric::lane {
namespace {

constexpr std::size_t kNoFlow = ~std::size_t{0};
// The line of NCCL's LL128 protocol: no chunk may end inside one but the last.
constexpr std::uint32_t kLine = 128;
// A big message is not handed to a flow in pieces smaller than this: it waits for room instead.
constexpr std::uint32_t kMinChunk = 32u << 10;
// A message that fits behind its header in one range of the send queue travels as a copy.
constexpr std::uint32_t kInlineMessage = stack::Connection::kInlineBytes - kRecordHeaderBytes;

}  // namespace

Outbox::Outbox(const OutboxOptions& options) : options_(options), messages_(kMaxMessages) {
  assert(options.chunk_bytes % kLine == 0 && options.chunk_bytes > 0);
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

void Outbox::take_flows(std::span<const Outlet> outlets) {
  while (flows_.size() < outlets.size()) {
    flows_.emplace_back().ring.resize(kMaxOpenChunks);
  }
  open_flows_ = 0;
  usual_rate_ = 1;
  for (const Outlet& outlet : outlets) {
    if (outlet.connection != nullptr) {
      ++open_flows_;
      usual_rate_ = std::max(usual_rate_, outlet.rate);
    }
  }
}

// The flow on which the message's next chunk will be there first. Nothing if that one has no room: to wait
// for it is better than to take another.
std::size_t Outbox::pick_flow(std::span<const Outlet> outlets, const Message& message) const {
  const double size = std::min(message.size - message.cut, options_.chunk_bytes);
  std::size_t best = kNoFlow;
  double earliest = 0;
  for (std::size_t i = 0; i < outlets.size(); ++i) {
    if (outlets[i].connection == nullptr) {
      continue;
    }
    const auto queued =
        static_cast<double>(outlets[i].connection->stream_written() - outlets[i].connection->stream_acked());
    const std::uint64_t rate = outlets[i].rate == 0 ? usual_rate_ : outlets[i].rate;
    const double finish = (queued + size) / static_cast<double>(rate);
    if (best == kNoFlow || finish < earliest) {
      best = i;
      earliest = finish;
    }
  }
  return best != kNoFlow && has_room(best, outlets[best], message) ? best : kNoFlow;
}

bool Outbox::has_room(std::size_t flow, const Outlet& outlet, const Message& message) const {
  const std::uint32_t want = std::min(message.size - message.cut, kMinChunk);
  return flows_[flow].size < kMaxOpenChunks && outlet.connection->send_room() >= want + kRecordHeaderBytes;
}

std::uint32_t Outbox::chunk_size(const Message& message, std::uint32_t room) const {
  const std::uint32_t remaining = message.size - message.cut;
  std::uint32_t size = std::min(remaining, room - static_cast<std::uint32_t>(kRecordHeaderBytes));
  if (open_flows_ > 1) {
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

bool Outbox::pump(std::span<const Outlet> outlets) {
  bool any = false;
  if (cut_ == next_) {
    return any;
  }
  take_flows(outlets);
  while (cut_ != next_) {
    Message& message = at(cut_);
    const std::size_t flow = pick_flow(outlets, message);
    if (flow == kNoFlow || !send_chunk(message, cut_, flow, *outlets[flow].connection)) {
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
  if (flow >= flows_.size()) {
    return;  // it has never had a chunk
  }
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

}  // namespace tfabric::lane
