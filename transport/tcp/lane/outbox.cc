#include "transport/tcp/lane/outbox.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "transport/tcp/lane/record.h"

namespace tfabric::lane {
namespace {

constexpr std::size_t kNoFlow = ~std::size_t{0};
// The line of NCCL's LL128 protocol: only the last piece of a message may end inside one.
constexpr std::uint32_t kLine = 128;
// A flow with less room than this, or than the rest of the message, gets no piece: the message waits for
// room.
constexpr std::uint32_t kLeastRoom = 32u << 10;
// A message that fits with its header into one range of the send queue is copied there.
constexpr std::uint32_t kInlineMessage = stack::Connection::kInlineBytes - kRecordHeaderBytes;

}  // namespace

Outbox::Outbox(const OutboxOptions& options) : options_(options), messages_(kMaxMessages) {
  assert(options.piece_bytes % kLine == 0 && options.piece_bytes > 0);
}

bool Outbox::post(const Outgoing& outgoing, Completion* completion) {
  if (next_ - front_ == kMaxMessages) {
    return false;
  }
  at(next_) = Message{.what = outgoing, .completion = completion};
  ++next_;
  ++count_;
  return true;
}

void Outbox::take_flows(std::span<const Outlet> outlets) {
  while (flows_.size() < outlets.size()) {
    flows_.emplace_back().ring.resize(kMaxOpenPieces);
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

// Returns the flow on which the message's next piece is expected to arrive first; kNoFlow if that flow has no
// room, because the piece then arrives earlier by waiting for it than by taking another.
std::size_t Outbox::pick_flow(std::span<const Outlet> outlets, const Message& message) const {
  const double size = std::min(message.what.size - message.cut, options_.piece_bytes);
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
  const std::uint32_t want = std::min(message.what.size - message.cut, kLeastRoom);
  return flows_[flow].size < kMaxOpenPieces && outlet.connection->send_room() >= want + kRecordHeaderBytes;
}

std::uint32_t Outbox::piece_size(const Message& message, std::uint32_t room) const {
  const std::uint32_t remaining = message.what.size - message.cut;
  std::uint32_t size = std::min(remaining, room - static_cast<std::uint32_t>(kRecordHeaderBytes));
  if (open_flows_ > 1) {
    size = std::min(size, options_.piece_bytes);
  }
  return size == remaining ? size : size / kLine * kLine;
}

bool Outbox::send_piece(Message& message, std::uint32_t number, std::size_t flow,
                        stack::Connection& connection) {
  const std::uint32_t size = piece_size(message, connection.send_room());
  const RecordHeaderBytes header = encode({.type = RecordType::piece,
                                           .index = message.what.index,
                                           .tag = message.what.tag,
                                           .group = message.what.group,
                                           .length = size,
                                           .total = message.what.size,
                                           .offset = message.cut});
  if (size <= kInlineMessage) {
    std::array<std::byte, stack::Connection::kInlineBytes> bytes;
    std::memcpy(bytes.data(), header.data(), header.size());
    if (size > 0) {
      std::memcpy(bytes.data() + header.size(), message.data() + message.cut, size);
    }
    if (!connection.send_inline(std::span(bytes).first(header.size() + size))) {
      return false;
    }
  } else {
    // Two ranges go or none: a header without its bytes would end the framing.
    if (!connection.can_send_ranges(2) || !connection.send_inline(header)) {
      return false;
    }
    const bool sent = connection.send({message.data() + message.cut, size, message.what.owner});
    assert(sent);
    static_cast<void>(sent);
  }
  Flow& open = flows_[flow];
  open.ring[(open.head + open.size++) & (kMaxOpenPieces - 1)] = {connection.stream_written(), number};
  message.cut += size;
  ++message.pieces_open;
  message.all_cut = message.cut == message.what.size;
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
    if (flow == kNoFlow || !send_piece(message, cut_, flow, *outlets[flow].connection)) {
      return any;
    }
    any = true;
    if (message.all_cut) {
      ++cut_;
    }
  }
  return any;
}

void Outbox::on_acked(FlowId flow, std::uint64_t stream_acked) {
  if (flow.value >= flows_.size()) {
    return;  // it has never had a piece
  }
  Flow& open = flows_[flow.value];
  while (open.size > 0 && open.ring[open.head].stream_end <= stream_acked) {
    const std::uint32_t number = open.ring[open.head].message;
    open.head = (open.head + 1) & (kMaxOpenPieces - 1);
    --open.size;
    piece_acked(number);
  }
}

void Outbox::piece_acked(std::uint32_t number) {
  Message& message = at(number);
  assert(message.pieces_open > 0);
  if (--message.pieces_open > 0 || !message.all_cut || message.completion == nullptr) {
    return;
  }
  message.completion->sizes[0] = message.what.size;
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
    if (message.completion != nullptr && message.data() < begin + size &&
        begin < message.data() + message.what.size) {
      return true;
    }
  }
  return false;
}

}  // namespace tfabric::lane
