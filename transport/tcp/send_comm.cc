#include "transport/tcp/send_comm.h"

#include <fmt/format.h>

#include <bit>

#include "transport/tcp/handshake.h"

namespace tfabric::tcp {

SendComm::SendComm(const Context& context, std::size_t flows, std::uint8_t max_recvs)
    : CommCore(context, nullptr, "send"),
      expected_flows_(flows),
      announced_only_(max_recvs > 1),
      requests_(*this, context.progress),
      outbox_({.flows = static_cast<std::uint32_t>(flows), .chunk_bytes = context.options.chunk_bytes}) {}

SendComm::~SendComm() {
  const EngineGuard guard(context_.engine.lock());
  detach(outbox_.outstanding() > 0 || posted_.front() != nullptr || !welcomed());
}

bool SendComm::open_flow(engine::Link& link, const net::IpAddress& remote, std::uint16_t port,
                         std::span<const std::byte> hello) {
  engine::Flow* flow = context_.engine.connect(link, remote, port, this, flows_.size());
  if (flow == nullptr) {
    return false;
  }
  add_flow(*flow, std::make_unique<message::FlowReader>(*this, nullptr));
  return send_copy(*flow, hello);
}

// --- user's side

Result<transport::Request*> SendComm::isend(const void* data, std::size_t size, int tag,
                                            transport::MemoryRegion* region) {
  if (failed()) {
    return error();
  }
  if (size > transport::kMaxMessageBytes || (data == nullptr && size > 0)) {
    return Error{Errc::invalid_argument,
                 fmt::format("isend of {} bytes from {}: at most {} bytes, and an address", size, data,
                             transport::kMaxMessageBytes)};
  }
  Request* request = requests_.acquire();
  if (request == nullptr) {
    poke();
    return static_cast<transport::Request*>(nullptr);
  }
  const std::optional<Target> target = next_target(tag);
  if (!target) {
    requests_.release(*request);
    poke();
    return static_cast<transport::Request*>(nullptr);
  }
  request->data = data;
  request->size = static_cast<std::uint32_t>(size);
  request->tag = tag;
  request->group = target->group;
  request->index = target->index;
  const auto* registered = static_cast<const Region*>(region);
  const bool reachable =
      registered != nullptr && registered->shared->reachable && registered->covers(data, size);
  request->owner = reachable ? registered->shared : nullptr;
  enqueue(*request);
  poke();
  return static_cast<transport::Request*>(request);
}

std::optional<SendComm::Target> SendComm::next_target(int tag) {
  if (!announced_only_) {
    return Target{next_group_++, 0};
  }
  if (!current_) {
    const Announced* next = announced_.front();
    if (next == nullptr) {
      return std::nullopt;
    }
    current_ = *next;
    announced_.pop();
  }
  for (std::uint8_t i = 0; i < current_->count; ++i) {
    if ((current_->used >> i & 1u) != 0 || current_->tags[i] != static_cast<std::uint32_t>(tag)) {
      continue;
    }
    const Target target{current_->group, i};
    current_->used = static_cast<std::uint8_t>(current_->used | 1u << i);
    if (std::popcount(current_->used) == current_->count) {
      current_.reset();
    }
    return target;
  }
  return std::nullopt;
}

Result<transport::MemoryRegion*> SendComm::register_dmabuf(void*, std::size_t, transport::MemoryKind,
                                                           std::uint64_t, int) {
  return Error{Errc::invalid_argument, "the TCP transport does not take DMA-BUF memory"};
}

// --- engine's side

void SendComm::on_submitted() {
  while (Request* const* next = posted_.front()) {
    Request& request = **next;
    if (failed()) {
      request.completion.finish(message::Completion::State::failed);
    } else if (!outbox_.post(request.data, request.size, request.tag, request.group, request.index,
                             &request.completion, request.owner)) {
      break;  // taken up again when a message is done
    }
    posted_.pop();
  }
  pump();
}

void SendComm::pump() {
  if (failed() || !outbox_.pump(connections_)) {
    return;
  }
  for (engine::Flow* flow : flows_) {
    context_.engine.wake(*flow);
  }
}

void SendComm::on_progress(engine::Flow& flow) {
  if (failed()) {
    return;
  }
  outbox_.on_acked(flow.index(), flow.connection().stream_acked());
  if (flow.connection().peer_finished()) {
    fail(Error{Errc::remote, fmt::format("{}: the peer closed it", name_of(flow.index()))});
    return;
  }
  on_submitted();
}

Status SendComm::on_control(const message::RecordHeader& header, std::span<const std::byte> body) {
  switch (header.type) {
    case message::RecordType::welcome:
      return on_welcome(body);
    case message::RecordType::announce:
      return on_announce(header, body);
    default:
      return Error{Errc::internal, "the peer sent a record that a receiver does not send"};
  }
}

Status SendComm::on_welcome(std::span<const std::byte> body) {
  const std::optional<Welcome> welcome = decode_welcome(body);
  if (!welcome || welcome->status == WelcomeStatus::disagreement) {
    return Error{Errc::internal,
                 "the listener does not understand this connector: install the same "
                 "libnccl-net.so on all hosts"};
  }
  if (welcome->status == WelcomeStatus::no_listener) {
    return Error{Errc::remote, "the listener that the handle names has been closed"};
  }
  welcomes_.fetch_add(1, std::memory_order_release);
  return {};
}

Status SendComm::on_announce(const message::RecordHeader& header, std::span<const std::byte> body) {
  Announced announced{.group = header.group, .count = static_cast<std::uint8_t>(body.size() / 4)};
  if (body.empty() || body.size() % 4 != 0 || body.size() / 4 > transport::kMaxGroupedReceives) {
    return Error{Errc::internal, "the receiver announced a malformed group of receives"};
  }
  for (std::size_t i = 0; i < announced.count; ++i) {
    announced.tags[i] = message::get_u32(&body[4 * i]);
  }
  if (!announced_.push(announced)) {
    return Error{Errc::internal, "the receiver announced more receives than a comm may have"};
  }
  return {};
}

void SendComm::fail_requests() {
  outbox_.fail();
  on_submitted();
}

}  // namespace tfabric::tcp
