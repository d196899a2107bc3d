#include "transport/comm/send_comm.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <chrono>

#include "base/log.h"
#include "transport/lane/flow_failure.h"

namespace tfabric::comm {

using lane::Lane;
using LaneState = flows::SendFlows::State;

SendComm::SendComm(const Context& context, const session::Hello& hello, std::uint8_t max_recvs,
                   std::vector<SendRoute> routes)
    : CommCore(context, /*sends=*/true),
      announced_(max_recvs > 1 || context.offered != nullptr ? std::make_unique<lane::AnnouncedReceives>()
                                                             : nullptr),
      hello_(hello),
      routes_(std::move(routes)),
      has_standbys_(routes_.back().rank != routes_.front().rank),
      carrying_(routes_.front().rank),
      opened_at_(context.engine.now()),
      // Copies are not registered with adapters.
      outbox_({.waits_for_receives = announced_ == nullptr,
               .copies = context.offered == nullptr ? &context.peers.copies : nullptr}) {
  hello_.announce = offers();
  for (const SendRoute& route : routes_) {
    route.path->add();
  }
}

SendComm::~SendComm() {
  if (context_.progress.mode() != engine::ProgressMode::by_owner) {
    await_confirmations();
  }
  {
    const engine::Guard guard(context_.engine.lock());
    const bool idle = welcomed() && requests_.posted() == nullptr;
    const bool over = idle && outbox_.outstanding() == 0;
    // What the lanes have still goes out while they are closed in order.
    const bool leaves = idle && outbox_.undone() == 0 && owes() && outbox_.is_dealt() && burials_.empty();
    detach(/*outstanding=*/!over && !leaves);
    if (leaves) {
      outbox_.leave_copies();
    } else {
      if (failed()) {
        context_.engine.drain_payload();  // of this comm's copies
      }
      outbox_.drop_copies();
    }
    // Not before: what was still posted has woken them.
    for (const SendRoute& route : routes_) {
      route.path->remove(*this);
    }
  }
  poke();  // the process may end at any time, and the peer should be told of the end before
  await_rest();
  const engine::Guard guard(context_.engine.lock());
  lanes_.clear();  // before what they read from
}

// A kernel may hold its acknowledgement for 40 ms; the answer of the process brings it at once.
void SendComm::ask_kernels() {
  for (const auto& lane : lanes_) {
    if (lane->carries() && lane->traits().answers_without_process) {
      lane->say(lane::encode_record(lane::RecordType::ask, {}));
    }
  }
}

// Messages that are done, and that the peer has not confirmed, are this comm's to send again, until it ends.
void SendComm::await_confirmations() {
  const Instant begin = monotonic_now();
  Duration& patience = context_.peers.patience;
  for (bool waited = false;; waited = true, sched_yield()) {
    const engine::Guard guard(context_.engine.lock());
    context_.engine.take_submissions();
    if (outbox_.undone() > 0 || requests_.posted() != nullptr || !owes()) {
      patience = waited && !failed() ? Peers::kPatience : patience;
      return;
    }
    if (monotonic_now() - begin >= patience) {
      TF_WARN(
          "NET/tfabric: a communicator is closed whose peer has not confirmed the last {} message(s) for "
          "{:.1f} s",
          outbox_.outstanding(), std::chrono::duration<double>(patience).count());
      patience /= 2;
      return;
    }
    if (!waited) {
      ask_kernels();
    }
    context_.engine.turn();
  }
}

bool SendComm::open_lane(stripe::RouteId route) {
  SendRoute& over = route_at(route);
  over.tried = true;
  if (over.by_offer) {
    return open_offered_lane(route);
  }
  engine::Carrier* carrier = context_.engine.find_carrier(over.carrier);
  std::unique_ptr<Lane> opened = carrier == nullptr ? nullptr : carrier->open({over.remote, over.port});
  if (opened == nullptr) {
    return false;
  }
  session::Hello hello = hello_;
  hello.kind = welcomed() ? session::HelloKind::joins : session::HelloKind::opens;
  hello.rail = over.rail_number;
  hello.serial = {++last_serial_};
  hello.nonce = session::nonce_of_lane(hello_.nonce, hello.serial);
  hello.port = opened->port_here();
  Lane& lane = adopt(std::move(opened), hello.serial);
  openings_.resize(std::max(openings_.size(), lane.id().value + 1));
  session::LaneOpening::Opener& opener = *this;
  openings_[lane.id().value] = std::make_unique<session::LaneOpening>(opener, lane.id(), hello);
  session::LaneOpening& opening = *openings_[lane.id().value];
  lane.attach(*this, opening, nullptr);
  outbox_.renew(lane.id());
  const std::uint32_t piece_bytes = lane.traits().piece_bytes;
  book_.opening(route, lane, piece_bytes == 0 ? context_.options.piece_bytes : piece_bytes);
  over.judge.forget(lane.id());
  return lane.say(lane::encode_record(lane::RecordType::hello, opening.hello()));
}

// --- user's side

inline std::optional<SendComm::Target> SendComm::next_target(int tag) {
  if (announced_ == nullptr) {
    const stripe::GroupId group = next_group_;
    next_group_ = group.next();
    return Target{group, {}};
  }
  if (!current_) {
    current_ = announced_->next();
    used_ = 0;
  }
  for (std::uint8_t i = 0; current_ && i < current_->count; ++i) {
    if ((used_ >> i & 1u) != 0 || current_->tags[i] != static_cast<std::uint32_t>(tag)) {
      continue;
    }
    const Target target{current_->group, {i}, (current_->on_host >> i & 1) != 0};
    used_ = static_cast<std::uint8_t>(used_ | 1u << i);
    if (std::popcount(used_) == current_->count) {
      current_.reset();
    }
    return target;
  }
  return std::nullopt;
}

Result<transport::Request*> SendComm::isend(const void* data, std::size_t size, int tag,
                                            transport::MemoryRegion* region) {
  if (failed()) {
    return requests_.after_failure();
  }
  if (size > transport::kMaxMessageBytes || (data == nullptr && size > 0)) {
    return Error{Errc::invalid_argument,
                 fmt::format("isend of {} bytes from {}: at most {} bytes, and an address", size, data,
                             transport::kMaxMessageBytes)};
  }
  const auto* registered = static_cast<const Region*>(region);
  const bool covered = registered != nullptr && registered->covers(data, size);
  if (offers() && !covered && size > 0) {
    return not_registered("isend", data, size, region);
  }
  const std::optional<Target> target = requests_.any_free() ? next_target(tag) : std::nullopt;
  if (!target) {
    poke();
    return static_cast<transport::Request*>(nullptr);
  }
  Request* request = requests_.acquire();
  request->send = {.data = data,
                   .size = static_cast<std::uint32_t>(size),
                   .tag = static_cast<std::uint32_t>(tag),
                   .group = target->group,
                   .index = target->index,
                   .owner = covered ? registered->owner() : nullptr,
                   .registered = covered ? registered->offered.get() : nullptr,
                   .on_host = target->on_host &&
                              (registered == nullptr || registered->kind == transport::MemoryKind::host)};
  enqueue(*request);
  poke();
  return static_cast<transport::Request*>(request);
}

// --- engine's side

void SendComm::on_submitted() {
  while (Request* next = requests_.posted()) {
    if (!failed() && outbox_.full()) {
      break;  // repeated when a message is confirmed
    }
    // Before it is done: then its thread may post it again.
    requests_.pop();
    if (failed()) {
      next->completion.finish(stripe::Completion::State::failed);
      continue;
    }
    tag_ = next->send.tag;
    busy_at_ = context_.engine.last_turn();
    if (!awake_) {
      wake_paths();
    }
    outbox_.post(next->send, &next->completion);
  }
  pump();
  if (!tended() && !failed() && (outbox_.awaits_confirmation() || outbox_.waits_for_receive())) {
    tend(/*idly=*/true);
  }
  if (offers() && !failed() && !outbox_.is_dealt()) {
    tend();
  }
}

const char* SendComm::doing() const {
  if (!welcomed()) {
    return "connecting";
  }
  if (outstanding() == 0) {
    return "idle";
  }
  if (needs_receive()) {
    return "peer has no receive";
  }
  bool any = false, answered = false;
  for (const auto& lane : lanes_) {
    any = any || lane->is_open();
    answered = answered || (lane->is_open() && lane->timeouts_in_row() == 0);
  }
  return any && !answered ? "no answer" : "sending";
}

// A message for which no receive is announced waits for as long as NCCL offers it, within microseconds each
// time. If it has stopped to, it does not want to send any more.
bool SendComm::is_refused() const {
  constexpr Duration kStillWanted = std::chrono::seconds(1);
  if (announced_ == nullptr || !announced_->has_refused()) {
    return false;
  }
  const Instant now = context_.engine.last_turn();
  if (const std::uint32_t refusals = announced_->refusals(); std::exchange(refusals_, refusals) != refusals) {
    refused_at_ = now;
  }
  return now - refused_at_ < kStillWanted;
}

// After small messages the peer does not say at once which receives are posted (RecvComm::report_is_due).
void SendComm::ask_for_receive() {
  const auto group = outbox_.waits_behind_small();
  Lane* lane = group && group != asked_for_ ? suspicion_.speaker() : nullptr;
  if (lane != nullptr && lane->say(lane::encode_record(lane::RecordType::ask, {}, *group))) {
    asked_for_ = group;
  }
}

void SendComm::pump() {
  note_confirmations();
  if (failed()) {
    return;
  }
  const bool any = outbox_.pump(book_.outlets());
  if (outbox_.waits_for_receive()) {
    ask_for_receive();
  }
  if (!any) {
    return;
  }
  for (const auto& lane : lanes_) {
    if (lane->is_open()) {
      lane->flush();
    }
  }
}

void SendComm::on_progress(Lane& lane) {
  if (failed()) {
    return;
  }
  outbox_.on_confirmed(lane.id(), lane.confirmed());
  note_confirmations();
  suspicion_.look(lane, context_.engine.last_turn());
  if (lane.is_open() && lane.is_finished()) {
    on_peer_finished(lane);
    return;
  }
  const LaneState state = state_of(lane);
  if (state == LaneState::opening && route_of(lane).by_offer) {
    go_on_offering(lane);
  } else if (welcomed() && lane.is_open()) {
    flows::Path& path = *route_of(lane).path;
    lane.tell_waiting();
    lane.report();
    if (state == LaneState::leaving) {
      close_if_drained(lane);
    }
    if (path.poll(context_.engine.last_turn())) {
      poll_paths();
    }
  }
  if (requests_.posted() != nullptr || !outbox_.is_dealt()) {
    on_submitted();
  }
}

// Nothing of the peer's comes on them that would end them: they are finished when what it had confirmed has
// come. Its adapter would repeat for many seconds what the other one takes no more.
void SendComm::leave_placing_lanes() {
  for (const auto& lane : lanes_) {
    if (lane->carries() && lane->traits().places_remotely) {
      lane->on_leaving();
    }
  }
}

void SendComm::on_peer_finished(Lane& lane) {
  if (!lane.carries()) {
    give_up(lane, {Errc::remote, fmt::format("{}: it was closed before the peer welcomed it", lane.name())});
  } else if (!lane.is_closed_in_order() && !peer_over_) {
    give_up(lane,
            {Errc::remote, fmt::format("{}: the peer's end was closed without a goodbye", lane.name())});
  } else {
    on_peer_over(lane);
  }
}

// Also of the routes on which nothing happens, because they are thought to be slow.
void SendComm::poll_paths() {
  for (const SendRoute& route : routes_) {
    route.path->poll(context_.engine.last_turn());
  }
}

void SendComm::wake_paths() {
  awake_ = true;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (!std::exchange(routes_[i].awake, true)) {
      routes_[i].path->wake(*this, {i});
    }
  }
}

void SendComm::take_acknowledgements() {
  for (const auto& lane : lanes_) {
    if (lane->is_open()) {
      outbox_.on_confirmed(lane->id(), lane->confirmed());
    }
  }
}

void SendComm::close_if_drained(Lane& lane) {
  if (state_of(lane) != LaneState::leaving || !outbox_.drained(lane.id()) || !lane.is_drained()) {
    return;
  }
  suspicion_.forget(lane);
  ++counters_.left;
  if (lane.traits().places_remotely) {  // what the peer has written on it may arrive until it is fenced
    lane.shut();
    begin_burial(lane);
  } else {
    lane.leave();
    book_.gone(lane.id());
  }
}

flows::PathUse SendComm::measure(stripe::RouteId route, Instant now) {
  flows::PathUse use;
  if (outbox_.outstanding() > 0) {
    busy_at_ = now;
  }
  constexpr Duration kRest = std::chrono::seconds(1);
  use.rests = now - busy_at_ >= kRest;
  if (use.rests) {
    awake_ = route_at(route).awake = false;
  }
  if (failed() || !welcomed()) {
    return use;
  }
  flows::Path& path = *route_at(route).path;
  book_.measure(route, readings_, now);
  for (const flows::FlowJudge::Sight& sight : readings_) {
    use.delivered += sight.reading.delivered;
    use.carried += sight.reading.carried;
    use.busy = std::max(use.busy, sight.reading.busy);
    use.all_busy += sight.reading.busy;
    use.limited += sight.reading.limited;
    use.in_network = std::max(use.in_network, sight.reading.in_network);
    use.srtt = std::max(use.srtt, sight.reading.srtt);
    if (sight.reading.path_mss != 0) {
      warn_of_path_mtu(route_at(route), sight.reading.path_mss);
    }
    if (sight.reading.recovered) {
      path.on_recovered();
    }
    if (sight.reading.unused && book_.is_dealt(sight.flow) && path.may_probe(now)) {
      book_.probe(sight.flow);
    }
  }
  if (path.network()) {
    judge(route, now);
  }
  use.ready = book_.dealt(route) == path.flows();
  return use;
}

void SendComm::warn_of_path_mtu(const SendRoute& route, std::uint32_t mss) const {
  if (engine::Carrier* carrier = context_.engine.find_carrier(route.carrier); carrier != nullptr) {
    carrier->on_small_path(route.remote, mss);
  }
}

void SendComm::judge(stripe::RouteId route, Instant now) {
  std::erase_if(readings_, [&](const flows::FlowJudge::Sight& sight) { return !book_.is_dealt(sight.flow); });
  const auto verdict = route_at(route).judge.on_readings(readings_, now);
  if (!verdict) {
    return;
  }
  book_.distrust(verdict->flow);
  ++counters_.distrusted;
  TF_INFO("NET/tfabric: {} {}: another takes its place", at(verdict->flow).name(), to_string(*verdict));
}

void SendComm::use_flows(stripe::RouteId route, std::uint32_t flows, std::uint32_t keep, Instant now) {
  if (failed() || !welcomed() || peer_over_) {
    return;
  }
  route_at(route).wanted = flows;
  while (dial(route, now)) {
  }
  deal();
  close_spare_flows(route, keep);
  close_replaced_flows(route, flows);
}

void SendComm::close_spare_flows(stripe::RouteId route, std::uint32_t keep) {
  while (book_.count(route) > keep) {
    const std::optional<stripe::LaneId> spare = book_.spare(route);
    if (!spare) {
      return;
    }
    leave_lane(at(*spare));
  }
}

// Closes the flows on bad paths once others have taken their place.
void SendComm::close_replaced_flows(stripe::RouteId route, std::uint32_t flows) {
  while (book_.dealt(route) == flows && book_.count(route) >= flows) {
    const std::optional<stripe::LaneId> bad = book_.distrusted(route);
    if (!bad || book_.is_dealt(*bad)) {
      return;
    }
    leave_lane(at(*bad));
  }
}

void SendComm::leave_lane(Lane& lane) {
  book_.retire(lane.id());
  close_if_drained(lane);
}

Status SendComm::on_control(const lane::RecordHeader& header, std::span<const std::byte> body) {
  switch (header.type) {
    case lane::RecordType::announce:
      return announced_ != nullptr ? announced_->take(header.group, body)
                                   : Error{Errc::internal,
                                           "the receiver announced a group of receives, and its handle says "
                                           "that it groups none"};
    case lane::RecordType::posted:
      outbox_.allow(header.group);  // on_progress() of this flow deals what may go now
      return {};
    case lane::RecordType::buried:
      return on_buried(body);
    case lane::RecordType::goodbye:
      peer_reason_ = lane::text_of(body);
      on_peer_closed();
      peer_over_ = peer_over_.value_or(Error{Errc::remote, lane::why_over(peer_reason_)});
      leave_placing_lanes();
      return {};  // its FIN follows
    case lane::RecordType::read:
      return on_read(body);  // on_progress() of this flow takes it into account
    case lane::RecordType::ask:
      return {};
    case lane::RecordType::question:
    case lane::RecordType::answer:
      on_note(header, body);
      return {};
    case lane::RecordType::rail:
      return on_rail(body);
    case lane::RecordType::accept:
      return on_accept(body);
    case lane::RecordType::hello:
    case lane::RecordType::welcome:
    case lane::RecordType::proof:
    case lane::RecordType::piece:
    case lane::RecordType::bury:
    case lane::RecordType::settled:
    case lane::RecordType::offer:
    case lane::RecordType::ready:
      return Error{Errc::internal, "the peer sent a record that a receiver does not send"};
  }
  return {};
}

Status SendComm::on_welcome(stripe::LaneId id, const session::Welcome& welcome, const session::Tag& proof) {
  Lane& lane = at(id);
  if (welcome.status == session::WelcomeStatus::gone) {
    fail(Error{Errc::remote, fmt::format("{}: the peer closed its communicator", lane.name())});
    return {};
  }
  if (!lane.say(lane::encode_record(lane::RecordType::proof, proof))) {
    return Error{Errc::internal, "the proof does not fit into a send queue that has sent a hello"};
  }
  lane.attach(*this, *this, nullptr);
  if (welcome.direct) {
    lane.set_direct();
  }
  witness::Contact process = welcome.witness;
  process.token = session::witness_key(hello_.token, hello_.witness.process, process.process);
  context_.peers.processes.add(*this, process);
  on_joined(lane);
  return {};
}

// The lane carries from here on.
void SendComm::on_joined(Lane& lane) {
  lane.join();
  book_.welcomed(lane.id());
  note_return(route_of(lane));
  for (const stripe::LaneSerial serial : burials_.unanswered()) {
    lane.tell(lane::encode_serial(lane::RecordType::bury, serial));
  }
  if (welcomed()) {
    ++counters_.joined;
  } else {
    welcomed_.store(true, std::memory_order_release);
  }
  offer_again();
  note_ready(context_.engine.last_turn());
  deal();
  // This lane can take over from those whose links are away.
  for (const auto& other : lanes_) {
    if (other->carries() && other->carrier().is_away()) {
      on_away(*other);
    }
  }
  if (silent_) {
    replace_silent(lane);
  }
}

void SendComm::fail_requests() {
  outbox_.fail();
  on_submitted();
}

}  // namespace tfabric::comm
