#include "transport/tcp/comm/send_comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/log.h"

namespace tfabric::tcp {
namespace {

// The pause after a flow could not join, before another is tried.
constexpr Duration kJoinPause = std::chrono::seconds(1);

}  // namespace

using FlowState = SendFlows::State;

SendComm::SendComm(const Context& context, const Hello& hello, std::uint16_t port, std::uint8_t max_recvs,
                   std::vector<SendRoute> routes)
    : CommCore(context, nullptr, "send"),
      announced_only_(max_recvs > 1),
      requests_(*this, context.progress),
      hello_(hello),
      port_(port),
      awaited_(hello.flows),
      routes_(std::move(routes)),
      outbox_({.piece_bytes = context.options.piece_bytes}) {
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    routes_[i].path->add(*this, {i});
  }
}

SendComm::~SendComm() {
  {
    const EngineGuard guard(context_.engine.lock());
    for (const SendRoute& route : routes_) {
      route.path->remove(*this);
    }
    detach(outbox_.outstanding() > 0 || posted_.front() != nullptr || !welcomed());
  }
  poke();  // the process may end at any time, and the peer should be told of the end before
}

bool SendComm::open_flow(lane::RouteId route) {
  SendRoute& over = at(route);
  engine::Flow* flow = context_.engine.connect(*over.link, over.remote, port_, this, /*index=*/0);
  if (flow == nullptr) {
    return false;
  }
  const lane::FlowId id = add_flow(*flow, std::make_unique<lane::FlowReader>(*this, nullptr));
  book_.opening(id, route, flow->connection());
  over.judge.forget(id);
  Hello hello = hello_;
  hello.flow = static_cast<std::uint16_t>(id.value);
  hello.flows = welcomed() ? std::uint16_t{0} : hello_.flows;
  return lane::send_record(flow->connection(), encode(hello));
}

// --- user's side

Result<transport::Request*> SendComm::isend(const void* data, std::size_t size, int tag,
                                            transport::MemoryRegion* region) {
  if (failed()) {
    return post_after_failure(requests_);
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
  const auto* registered = static_cast<const Region*>(region);
  const bool reachable =
      registered != nullptr && registered->shared->reachable && registered->covers(data, size);
  request->send = {.data = data,
                   .size = static_cast<std::uint32_t>(size),
                   .tag = static_cast<std::uint32_t>(tag),
                   .group = target->group,
                   .index = target->index,
                   .owner = reachable ? registered->shared : nullptr};
  enqueue(*request);
  poke();
  return static_cast<transport::Request*>(request);
}

std::optional<SendComm::Target> SendComm::next_target(int tag) {
  if (!announced_only_) {
    const lane::GroupId group = next_group_;
    next_group_ = group.next();
    return Target{group, {}};
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
    const Target target{current_->group, {i}};
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
      request.completion.finish(lane::Completion::State::failed);
    } else if (!outbox_.post(request.send, &request.completion)) {
      break;  // repeated when a message is done
    }
    posted_.pop();
  }
  pump();
}

void SendComm::pump() {
  if (failed() || !outbox_.pump(book_.outlets())) {
    return;
  }
  for (engine::Flow* flow : flows_) {
    if (flow != nullptr) {
      context_.engine.wake(*flow);
    }
  }
}

void SendComm::on_progress(engine::Flow& flow) {
  if (failed()) {
    return;
  }
  const lane::FlowId id = id_of(flow);
  outbox_.on_acked(id, flow.connection().stream_acked());
  if (flow.connection().peer_finished()) {
    on_peer_finished(id);
    return;
  }
  if (welcomed()) {
    const lane::RouteId route = book_.route(id);
    close_if_drained(flow);
    at(route).path->poll(context_.engine.last_turn());
  }
  on_submitted();
}

void SendComm::take_acknowledgements() {
  for (const engine::Flow* flow : flows_) {
    if (flow != nullptr) {
      outbox_.on_acked(id_of(*flow), flow->connection().stream_acked());
    }
  }
}

// The receiver closes all flows of its comm at once, and one flow's FIN may overtake another's
// acknowledgements. So sends fail only when no flow can acknowledge anything more.
void SendComm::on_peer_finished(lane::FlowId flow) {
  take_acknowledgements();
  const bool over = std::all_of(flows_.begin(), flows_.end(), [this](const engine::Flow* other) {
    return other == nullptr || other->connection().peer_finished() || outbox_.drained(id_of(*other));
  });
  if (over) {
    fail(Error{Errc::remote, fmt::format("{}: the peer closed its communicator", name_of(flow))});
  }
}

void SendComm::close_if_drained(engine::Flow& flow) {
  const lane::FlowId id = id_of(flow);
  const stack::Connection& connection = flow.connection();
  if (book_.state(id) == FlowState::leaving && outbox_.drained(id) &&
      connection.stream_acked() == connection.stream_written()) {
    context_.engine.close(flow);
    flows_[id.value] = nullptr;
    book_.gone(id);
    ++counters_.left;
  }
}

bool SendComm::survives(engine::Flow& flow) {
  const lane::FlowId id = id_of(flow);
  outbox_.on_acked(id, flow.connection().stream_acked());
  take_acknowledgements();
  const bool joining = book_.state(id) == FlowState::opening && welcomed();
  const bool left = book_.state(id) == FlowState::leaving && outbox_.drained(id);
  if (joining) {
    at(book_.route(id)).next_try = context_.engine.last_turn() + kJoinPause;
    ++counters_.refused;
  }
  if (joining || left) {
    book_.gone(id);
  }
  return joining || left;
}

PathUse SendComm::measure(lane::RouteId route, Instant now) {
  PathUse use;
  if (failed() || !welcomed()) {
    return use;
  }
  book_.measure(route, readings_);
  for (const FlowJudge::Sight& sight : readings_) {
    use.delivered += sight.reading.delivered;
    use.busy = std::max(use.busy, sight.reading.busy);
    use.all_busy += sight.reading.busy;
    use.limited += sight.reading.limited;
    use.srtt = std::max(use.srtt, sight.reading.srtt);
    if (sight.reading.path_mss != 0) {
      warn_of_path_mtu(at(route), sight.reading.path_mss);
    }
  }
  if (at(route).path->network()) {
    judge(route, now);
  }
  use.ready = book_.dealt(route) == at(route).path->flows();
  return use;
}

void SendComm::warn_of_path_mtu(const SendRoute& route, std::uint32_t mss) {
  if (!route.link->is_first_mtu_warning()) {
    return;
  }
  const net::InterfaceConfig& rail = route.link->interface().config();
  TF_WARN(
      "NET/tfabric: rail {}: full packets (MTU {}) to {} are lost without an ICMP error, those with {} "
      "bytes of payload arrive: set the rail's mtu on all hosts to what the network carries (1500 works "
      "nearly everywhere), or make it carry {}",
      rail.name, rail.mtu, net::to_string(route.remote), mss, rail.mtu);
}

void SendComm::judge(lane::RouteId route, Instant now) {
  std::erase_if(readings_, [&](const FlowJudge::Sight& sight) {
    return book_.outlets()[sight.flow.value].connection == nullptr;
  });
  const auto verdict = at(route).judge.on_readings(readings_, now);
  if (!verdict) {
    return;
  }
  book_.distrust(verdict->flow);
  ++counters_.distrusted;
  TF_INFO("NET/tfabric: {} {}: another takes its place", name_of(verdict->flow), to_string(*verdict));
}

void SendComm::use_flows(lane::RouteId route, std::uint32_t flows, std::uint32_t keep, Instant now) {
  if (failed() || !welcomed()) {
    return;
  }
  while (book_.count(route) < flows && now >= at(route).next_try) {
    if (!open_flow(route)) {
      at(route).next_try = now + kJoinPause;
    }
  }
  book_.deal_to(route, flows);
  close_spare_flows(route, keep);
  close_replaced_flows(route, flows);
}

void SendComm::close_spare_flows(lane::RouteId route, std::uint32_t keep) {
  while (book_.count(route) > keep) {
    const std::optional<lane::FlowId> spare = book_.spare(route, control_flow());
    if (!spare) {
      return;
    }
    leave(*spare);
  }
}

// Closes the flows on bad paths once others have taken their place.
void SendComm::close_replaced_flows(lane::RouteId route, std::uint32_t flows) {
  while (book_.dealt(route) == flows && book_.count(route) >= flows) {
    const std::optional<lane::FlowId> bad = book_.distrusted(route, control_flow());
    if (!bad || book_.outlets()[bad->value].connection != nullptr) {
      return;
    }
    leave(*bad);
  }
}

void SendComm::leave(lane::FlowId flow) {
  book_.retire(flow);
  close_if_drained(*flows_[flow.value]);
}

Status SendComm::on_control(const lane::RecordHeader& header, std::span<const std::byte> body) {
  switch (header.type) {
    case lane::RecordType::welcome:
      return on_welcome(body);
    case lane::RecordType::announce:
      return on_announce(header, body);
    default:
      return Error{Errc::internal, "the peer sent a record that a receiver does not send"};
  }
}

Status SendComm::on_welcome(std::span<const std::byte> body) {
  const std::optional<Welcome> welcome = decode_welcome(body);
  if (welcome && welcome->status == WelcomeStatus::no_listener) {
    return Error{Errc::remote, "the listener that the handle names has been closed"};
  }
  if (!welcome || welcome->status != WelcomeStatus::ok) {
    return Error{Errc::internal,
                 "the listener does not understand this connector: install the same "
                 "libnccl-net.so on all hosts"};
  }
  if (!book_.welcomed({welcome->flow})) {
    return Error{Errc::internal, "the listener welcomed a connection that was not being opened"};
  }
  if (welcomed()) {
    ++counters_.joined;
  } else if (--awaited_ == 0) {
    welcomed_.store(true, std::memory_order_release);
  }
  return {};
}

Status SendComm::on_announce(const lane::RecordHeader& header, std::span<const std::byte> body) {
  Announced announced{.group = header.group, .count = static_cast<std::uint8_t>(body.size() / 4)};
  if (body.empty() || body.size() % 4 != 0 || body.size() / 4 > transport::kMaxGroupedReceives) {
    return Error{Errc::internal, "the receiver announced a malformed group of receives"};
  }
  for (std::size_t i = 0; i < announced.count; ++i) {
    announced.tags[i] = lane::get_u32(&body[4 * i]);
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
