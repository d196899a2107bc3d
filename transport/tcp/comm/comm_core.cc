#include "transport/tcp/comm/comm_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "transport/tcp/comm/flow_failure.h"

namespace tfabric::tcp {

// --- requests

using State = stripe::Completion::State;

RequestPool::RequestPool(CommCore& comm, engine::Progress& progress) : comm_(&comm), progress_(&progress) {}

void RequestPool::grow() {
  if (requests_.size() * kTogether == transport::kMaxRequests) {
    return;
  }
  requests_.push_back(std::make_unique<std::array<Request, kTogether>>());
  for (Request& request : *requests_.back()) {
    request.progress_ = progress_;
    request.comm_ = comm_;
    request.pool_ = this;
    free_.push_back(&request);
  }
}

Request* RequestPool::acquire() {
  if (free_.empty()) {
    grow();
  }
  if (free_.empty()) {
    return nullptr;
  }
  Request* request = free_.back();
  free_.pop_back();
  request->completion.state.store(State::pending, std::memory_order_relaxed);
  request->completion.count = 1;
  return request;
}

Result<bool> Request::test(int* sizes) {
  State state = completion.state.load(std::memory_order_acquire);
  if (state == State::pending) {
    progress_->poke();
    state = completion.state.load(std::memory_order_acquire);
  }
  if (state == State::pending) {
    return false;
  }
  if (state == State::done && sizes != nullptr) {
    for (std::size_t i = 0; i < completion.count; ++i) {
      sizes[i] = static_cast<int>(completion.sizes[i]);
    }
  }
  pool_->release(*this);
  if (state == State::failed) {
    return comm_->report();
  }
  return true;
}

Result<transport::Request*> CommCore::post_after_failure(RequestPool& pool) {
  if (reported_) {
    return error();
  }
  Request* request = pool.acquire();
  if (request != nullptr) {
    request->completion.finish(State::failed);
  }
  return static_cast<transport::Request*>(request);
}

// --- lanes

CommCore::CommCore(const Context& context, stripe::Inbox* inbox, const char* direction)
    : context_(context), inbox_(inbox), direction_(direction) {
  if (context_.peers.report != nullptr) {
    context_.peers.report->add(*this);
  }
}

stripe::LaneId CommCore::add_lane(engine::Flow& flow, std::unique_ptr<lane::FlowReader> reader,
                                  stripe::LaneSerial serial) {
  std::size_t number = 0;
  while (number < lanes_.size() && (lanes_[number].flow != nullptr || !is_free({number}))) {
    ++number;
  }
  if (number == lanes_.size()) {
    lanes_.emplace_back();
  }
  reader->attach(*this, inbox_);
  flow.set_handler(this, number);
  lanes_[number] = {
      .flow = &flow, .reader = std::move(reader), .name = name_for(flow), .serial = serial, .controls = {}};
  return {number};
}

std::string CommCore::name_for(const engine::Flow& flow) const {
  return fmt::format("{} connection {} over rail {}", direction_, flow.describe(), flow.carrier().name());
}

std::optional<stripe::LaneId> CommCore::find(stripe::LaneSerial serial) const {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].flow != nullptr && lanes_[i].serial == serial) {
      return stripe::LaneId{i};
    }
  }
  return std::nullopt;
}

bool CommCore::any_carries(const engine::Flow* except) const {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (carries({i}) && (except == nullptr || (&lanes_[i].flow->carrier() != &except->carrier() &&
                                               !lanes_[i].flow->carrier().is_away()))) {
      return true;
    }
  }
  return false;
}

std::optional<stripe::LaneId> CommCore::speaker() const {
  std::optional<stripe::LaneId> any;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (carries({i})) {
      if (!lanes_[i].flow->carrier().is_away() && !watch_.suspects({i})) {
        return stripe::LaneId{i};
      }
      any = stripe::LaneId{i};
    }
  }
  return any;
}

void CommCore::tell(stripe::LaneId lane, std::vector<std::byte> record) {
  at(lane).controls.push_back(std::move(record));
  send_controls(lane);
}

void CommCore::tell_all(const std::vector<std::byte>& record) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (carries({i})) {
      tell({i}, record);
    }
  }
}

void CommCore::send_controls(stripe::LaneId lane) {
  LaneEnd& end = at(lane);
  while (!end.controls.empty() && lane::send_record(end.flow->stream(), end.controls.front())) {
    end.controls.pop_front();
    end.flow->wake();
  }
}

// Not for what carries nothing but such reports, or each would cause another one; but now and then, since
// they take room, too.
void CommCore::send_report(stripe::LaneId lane) {
  constexpr std::uint64_t kAtMost = 64u << 10;
  LaneEnd& end = at(lane);
  const std::uint64_t position = end.reader->position(), news = position - end.reported;
  if (news <= end.reports * lane::kPositionRecordBytes && news < kAtMost) {
    return;
  }
  if (end.flow->send_report(lane::encode_position(lane::RecordType::read, {end.serial, position}))) {
    end.reported = position;
    end.reports = 0;
    end.flow->wake();
  }
}

Status CommCore::on_read(std::span<const std::byte> body) {
  const auto report = lane::decode_position(body);
  const std::optional<stripe::LaneId> lane = report ? find(report->serial) : std::nullopt;
  if (!report || (lane && !at(*lane).flow->on_report(report->position))) {
    return Error{Errc::internal, "the peer reports that it has read what was not sent"};
  }
  if (lane) {
    ++at(*lane).reports;
  }
  return {};
}

void CommCore::tend(bool idly) {
  next_look_ = idly ? context_.engine.last_turn() + kIdleInterval : Instant{};
  if (!tended_) {
    tended_ = true;
    context_.engine.tend(*this);
  }
}

void CommCore::leave() {
  if (tended_) {
    tended_ = false;
    context_.engine.leave(*this);
  }
}

std::size_t CommCore::on_data(engine::Flow& flow, std::span<const std::byte> bytes) {
  if (failed()) {
    return bytes.size();
  }
  const stripe::LaneId lane = id_of(flow);
  take(lane, at(lane).reader->take(bytes));
  return bytes.size();
}

void CommCore::on_placed(engine::Flow& flow, std::size_t bytes) {
  const stripe::LaneId lane = id_of(flow);
  take(lane, at(lane).reader->placed(bytes));
}

// What is wrong on a lane that does not carry yet is not the peer's: whoever sent it has not shown the token.
void CommCore::take(stripe::LaneId lane, const Status& taken) {
  if (taken || at(lane).flow == nullptr) {
    return;
  }
  Error why{taken.error().code, fmt::format("{}: {}", at(lane).name, taken.error().message)};
  if (carries(lane)) {
    fail(std::move(why));
  } else {
    give_up(lane, why);
  }
}

void CommCore::on_failed(engine::Flow& flow, stack::ConnectionError error) {
  const stripe::LaneId lane = id_of(flow);
  // What ends a lane before it carries may be anybody, whose words do not count.
  const bool carried = carries(lane);
  drop(lane);
  if (failed()) {
    return;
  }
  const Instant now = context_.engine.last_turn();
  timed_out_ = error == stack::ConnectionError::timed_out && !flow.carrier().is_away();
  const bool refused = has_refused(flow, error);
  peer_ended_ = peer_ended_ || refused || flow.carrier().has_ended(now);
  const std::string reason = carried ? flow.stream().reset_reason() : std::string();
  peer_closed_ = peer_closed_ || !reason.empty();
  Error why = refused ? Error{Errc::remote, fmt::format("{}: {}", at(lane).name, process_ended())}
                      : failure_of(flow, error);
  if (reason != kClosedEarly) {
    keep(flow, why_failed(flow, error, in_use(), now));
  }
  // A way without a link, or on which nobody answers, has been silent for as long as that took to find. But
  // it may work again by now, and the sender, whose lane was idle as well, takes a moment to make another
  // one.
  const bool silent =
      error == stack::ConnectionError::timed_out || error == stack::ConnectionError::unreachable;
  const Instant heard = flow.stream().silent_since();
  const Duration least = Duration(context_.options.outage) / 4;
  const Instant since =
      silent && heard != Instant{} ? std::max(heard, now - context_.options.outage + least) : now;
  on_lane_failed(lane, flow,
                 {.why = std::move(why),
                  .since = since,
                  .over = !reason.empty() || flow.carrier().has_ended(now) || refused});
}

// The kernel of the peer's host refuses connections to a port at which its process no longer listens. So may
// a firewall; a standby is no proof, and the witness knows better.
bool CommCore::has_refused(const engine::Flow& flow, stack::ConnectionError error) const {
  return flow.by_kernel() && error == stack::ConnectionError::refused && in_use() && !any_carries() &&
         !stands_by(id_of(flow)) && !PeerProcesses::vouches(*this);
}

engine::Flow& CommCore::drop(stripe::LaneId lane) {
  at(lane).controls.clear();
  watch_.forget(lane);
  return *std::exchange(at(lane).flow, nullptr);
}

// What is in the network on this lane will not arrive: the lane is given up if there is a way around.
void CommCore::on_link_away(engine::Flow& flow) {
  if (failed() || flow.carrier().ends_with_link()) {
    return;
  }
  if (any_carries(&flow)) {
    give_up(id_of(flow), failure_of(flow, stack::ConnectionError::unreachable));
  } else {
    on_alone();
  }
}

void CommCore::watch_closely(engine::Flow& flow) {
  const stripe::LaneId lane = id_of(flow);
  const std::uint32_t timeouts = flow.stream().timeouts_in_row();
  const Instant now = context_.engine.last_turn();
  for (const stripe::LaneId suspect : watch_.on_confirmed(lane, flow.stream().stream_acked(), awake_)) {
    try_again(*at(suspect).flow, now);
  }
  if (timeouts == 0) {
    acquit(lane);
    return;
  }
  if (!carries(lane)) {
    return;
  }
  if (!any_carries(&flow)) {
    if (timeouts >= stripe::Watch::kSuspected) {
      on_alone();
    }
    return;
  }
  switch (watch_.on_timeouts(lane, timeouts)) {
    case stripe::Watch::Step::suspect:
      on_suspicion(lane, true);
      tend();
      break;
    case stripe::Watch::Step::ask:
      ask_about(flow);
      break;
    case stripe::Watch::Step::none:
      break;
  }
}

void CommCore::acquit(stripe::LaneId lane) {
  if (watch_.acquit(lane)) {
    on_suspicion(lane, false);
  }
}

void CommCore::try_again(engine::Flow& flow, Instant now) {
  flow.stream().retry_at_once(now);
  flow.wake();  // which sets its timer
}

void CommCore::ask_about(engine::Flow& suspect) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!carries({i}) || &lanes_[i].flow->carrier() == &suspect.carrier() || watch_.suspects({i})) {
      continue;
    }
    engine::Flow& witness = *lanes_[i].flow;
    if (lane::send_record(witness.stream(), lane::encode_record(lane::RecordType::ask, {}))) {
      witness.wake();
      watch_.asked(id_of(suspect), {i}, witness.stream().stream_written(), suspect.stream().info().srtt);
      return;
    }
  }
}

void CommCore::judge_suspects(Instant now) {
  // More than this between two looks is time in which nothing could be received.
  constexpr Duration kMost = std::chrono::milliseconds(2);
  awake_ += std::min<Duration>(now - last_time_, kMost);
  last_time_ = now;
  while (const auto suspect = watch_.due_try(awake_)) {
    try_again(*at(*suspect).flow, now);
  }
  if (PeerProcesses::view(*this) == witness::View::stopped) {
    return;  // on_process_resumed() follows
  }
  for (const stripe::LaneId suspect : watch_.due_questions(awake_)) {
    ask_about(*at(suspect).flow);
  }
  while (const auto verdict = watch_.verdict(awake_)) {
    const LaneEnd& dead = at(verdict->dead);
    const auto silent = now - dead.flow->stream().progressed_at();
    give_up(
        verdict->dead,
        Error{Errc::remote,
              fmt::format("{}: nothing has arrived for {} ms, while the peer answers over rail {}", dead.name,
                          std::chrono::duration_cast<std::chrono::milliseconds>(silent).count(),
                          at(verdict->witness).flow->carrier().name())});
  }
}

Error CommCore::failure_of(const engine::Flow& flow, stack::ConnectionError error) const {
  return {Errc::remote, fmt::format("{}: {}", at(id_of(flow)).name,
                                    why_failed(flow, error, in_use(), context_.engine.now()))};
}

// A kernel does not say whether a neighbour has answered: where it has no answer, that may be a firewall.
void CommCore::fail_if_silent() {
  for (std::size_t i = 0; i < lanes_.size() && !failed(); ++i) {
    const engine::Flow* flow = lanes_[i].flow;
    if (flow != nullptr && (flow->carrier().is_away() || (!flow->by_kernel() && flow->is_silent()))) {
      fail(failure_of(*flow, stack::ConnectionError::unreachable));
    }
  }
}

void CommCore::begin_outage(Error why, Instant since, std::optional<Duration> patience) {
  if (!outage_) {
    outage_ = Outage{.since = since, .why = {}, .patience = patience, .paused = context_.engine.paused()};
    context_.peers.processes.want(*this);
  }
  if (outage_->why.message.empty()) {
    outage_->why = std::move(why);
  }
  tend();
}

std::optional<Error> CommCore::outage_over(Instant now) {
  if (!outage_) {
    return std::nullopt;
  }
  const witness::View view = PeerProcesses::view(*this);
  const bool stopped = view == witness::View::stopped;
  if (std::exchange(outage_->stopped, stopped) && !stopped) {
    // It runs again, or is gone: it gets as long as any other peer to connect.
    outage_->since = now;
    outage_->paused = context_.engine.paused();
  }
  const Duration passed = now - outage_->since - (context_.engine.paused() - outage_->paused);
  // A witness knows better than to take the end of lanes for that of the process.
  const bool ended = outage_->patience && view == witness::View::unknown;
  // A network that is back in the last moment has to be found: a neighbour is asked for once a second
  // (RFC 1122 §2.3.2.1, RFC 4861 §10), by us and by kernels, and then a connection is to be made.
  constexpr Duration kToConnect = std::chrono::milliseconds(1500);
  const Duration outage = context_.options.outage;
  const Duration limit = stopped ? std::max(context_.options.frozen, outage)
                         : ended ? *outage_->patience
                                 : outage + std::min<Duration>(outage, kToConnect);
  const bool undecided = view == witness::View::asked || view == witness::View::closing;
  const auto silent = std::find_if(lanes_.begin(), lanes_.end(), [this](const LaneEnd& lane) {
    return lane.flow != nullptr && carries(id_of(*lane.flow));
  });
  if (passed < limit || undecided) {
    return std::nullopt;
  }
  if (silent != lanes_.end() && !stopped) {
    return failure_of(*silent->flow, silent->flow->carrier().is_away() ? stack::ConnectionError::unreachable
                                                                       : stack::ConnectionError::timed_out);
  }
  if (ended) {
    return outage_->why;
  }
  const auto seconds = std::chrono::duration<double>(passed).count();
  return Error{
      outage_->why.code,
      stopped ? fmt::format("the peer's process has been stopped for {:.1f} s (tcp.frozen_timeout_ms); {}",
                            seconds, outage_->why.message)
              : fmt::format("{}; no connection for {:.1f} s (tcp.user_timeout_ms)", outage_->why.message,
                            seconds)};
}

void CommCore::on_process_ended(const std::string& who) {
  if (!failed()) {
    peer_ended_ = true;
    on_peer_ended({Errc::remote, process_ended(who.empty() ? "unknown" : who)});
  }
}

// Our own TCP's acknowledgements are the peer's process's; those of the kernel's count when the process has
// reported what it has read (Flow::by_kernel()).
ProcessUser::LaneAnswer CommCore::ask_lanes(std::uint32_t doubt) {
  LaneAnswer answer;
  for (std::size_t i = 0; i < lanes_.size() && !failed(); ++i) {
    if (!carries({i})) {
      continue;
    }
    answer.living = true;
    LaneEnd& lane = lanes_[i];
    stack::ByteStream& stream = lane.flow->stream();
    if (lane.doubt != doubt && lane::send_record(stream, lane::encode_record(lane::RecordType::ask, {}))) {
      lane.doubt = doubt;
      lane.asked = stream.stream_written();
      lane.flow->wake();
    }
    answer.answered = answer.answered || (lane.doubt == doubt && stream.stream_acked() >= lane.asked);
  }
  return answer;
}

// What waits for the peer is sent again at once, instead of when the time-outs say, which have grown.
// Suspicions begin anew: what came meanwhile waits at the peer in queues, and a long one takes it longer than
// an answer over another rail.
void CommCore::on_process_resumed(Duration stop) {
  const Instant now = context_.engine.last_turn();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].flow == nullptr) {
      continue;
    }
    lanes_[i].flow->stream().forgive(stop, now);
    acquit({i});
    try_again(*lanes_[i].flow, now);
  }
}

bool CommCore::in_trouble() const {
  constexpr std::uint32_t kTimeouts = 3;  // of one, or two, a rest of the peer's engine may be the cause
  return !failed() && (outage_ || std::any_of(lanes_.begin(), lanes_.end(), [](const LaneEnd& lane) {
                         return lane.flow != nullptr && (lane.flow->stream().timeouts_in_row() >= kTimeouts ||
                                                         lane.flow->stream().probes_unanswered() > 0);
                       }));
}

void CommCore::enqueue(Request& request) {
  const bool queued = posted_.push(&request);
  assert(queued);
  static_cast<void>(queued);
  context_.engine.submit(*this);
}

void CommCore::keep(engine::Flow& flow, std::string_view why) {
  if (context_.peers.report != nullptr) {
    context_.peers.report->keep(flow, why);
  }
}

void CommCore::keep_lanes(std::string_view why) {
  for (const LaneEnd& lane : lanes_) {
    if (lane.flow != nullptr) {
      keep(*lane.flow, why);
    }
  }
}

// Nothing of the network's has failed here if the user has ended the comm, or the peer has and could say so:
// what has failed is there. NCCL, when it aborts, deregisters memory first, which fails a comm that is in
// use.
bool CommCore::is_by_network(const Error& error) const {
  return !peer_closed_ && error.code != Errc::invalid_usage && error.code != Errc::invalid_argument;
}

void CommCore::fail(Error error) {
  if (failed()) {
    return;
  }
  error.message += seen_before(error);
  error_ = std::move(error);
  failed_.store(true, std::memory_order_release);
  leave();
  if (is_by_network(error_)) {
    keep_lanes("its comm has failed");
  }
  abort_lanes(error_.message);
  fail_requests();
}

void CommCore::abort_lanes(std::string_view reason) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].flow == nullptr) {
      continue;
    }
    if (lanes_[i].flow->by_kernel() && carries({i})) {
      // Its reset carries no reason.
      const auto text = std::as_bytes(std::span(reason));
      tell({i},
           lane::encode_record(lane::RecordType::goodbye, text.first(std::min(text.size(), kMostReason))));
    }
    drop({i}).abort(reason);
  }
}

void CommCore::close_lanes() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].flow != nullptr) {
      drop({i}).close();
    }
  }
}

void CommCore::show(Sight& sight) const {
  observe::CommFacts& facts = sight.facts;
  observe::put(facts.direction, direction_);
  observe::put(facts.state, failed() ? "failed" : outage_ && !any_carries() ? "no connection" : doing());
  for (const LaneEnd& lane : lanes_) {
    if (lane.flow != nullptr) {
      ++facts.lanes;
      sight.flow = lane.flow;
    }
  }
  facts.rank = tag_;
  facts.messages = traffic().messages;
  facts.bytes = traffic().bytes;
  facts.outstanding = failed() ? 0 : outstanding();
  sight.moves = traffic().lines;
  sight.trouble = in_trouble();
}

std::string CommCore::seen_before(const Error& error) {
  if (context_.peers.report == nullptr || (outstanding() == 0 && posted_.front() == nullptr)) {
    return {};
  }
  const std::string seen = context_.peers.report->watch().on_failed(
      *this, peer_ended_ ? verdict::Cause::peer_dead : verdict::Cause::failed, error.message,
      is_by_network(error), context_.engine.last_turn());
  return seen.empty() ? seen : fmt::format(". Seen before: {}", seen);
}

// --- waits

verdict::LaneFacts CommCore::facts_of(const engine::Flow& flow, Instant now) {
  const stack::ByteStream& stream = flow.stream();
  const engine::Carrier& carrier = flow.carrier();
  return {.rail = carrier.name(),
          .by_kernel = flow.by_kernel(),
          .no_link = carrier.is_away(),
          .no_link_for = now - carrier.away_since().value_or(now),
          .no_neighbour = !flow.by_kernel() && flow.is_silent(),
          .driver_stalled = carrier.is_stalled(),
          .unacknowledged = stream.awaits_peer(),
          .repetitions = stream.timeouts_in_row(),
          .unheard = now - stream.heard_at(),
          .round_trip = stream.info().srtt};
}

// A connection that is being made has heard nothing yet.
Instant CommCore::heard_at() const {
  Instant last{};
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (carries({i})) {
      last = std::max(last, lanes_[i].flow->stream().heard_at());
    }
  }
  return last;
}

void CommCore::examine(verdict::WaitFacts& facts, Instant now) {
  facts.sends = inbox_ == nullptr;
  facts.outstanding = failed() ? 0 : outstanding();
  facts.messages = traffic().messages;
  facts.needs_receive = needs_receive();
  const PeerProcesses& processes = context_.peers.processes;
  const witness::Introduction who = processes.introduction(*this);
  facts.peer = {.rank = who.rank, .pid = who.pid, .host = who.host};
  const witness::Witness::Hearing hearing = processes.hearing(*this);
  facts.unheard_here = hearing.here;
  facts.unheard_there = hearing.there;
  switch (PeerProcesses::view(*this)) {
    case witness::View::unknown:
      facts.view = verdict::PeerView::unknown;
      break;
    case witness::View::alive:
      facts.view = verdict::PeerView::runs;
      break;
    case witness::View::asked:
    case witness::View::closing:
      facts.view = verdict::PeerView::undecided;
      break;
    case witness::View::stopped:
      facts.view = verdict::PeerView::stopped;
      break;
    case witness::View::silent:
    case witness::View::lost:
      facts.view = verdict::PeerView::silent;
      break;
    case witness::View::ended:
      facts.view = verdict::PeerView::ended;
      break;
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (carries({i})) {
      facts.address = net::to_string(lanes_[i].flow->remote());
      facts.lanes.push_back(facts_of(*lanes_[i].flow, now));
    }
  }
  context_.peers.processes.want(*this);
}

void CommCore::send_note(std::vector<std::byte> record) {
  const auto lane = failed() ? std::nullopt : speaker();
  if (lane && at(*lane).controls.empty()) {
    tell(*lane, std::move(record));
  }
}

void CommCore::on_note(const lane::RecordHeader& header, std::span<const std::byte> body) {
  if (context_.peers.report == nullptr) {
    return;
  }
  CommWatch& watch = context_.peers.report->watch();
  const Instant now = context_.engine.last_turn();
  if (header.type == lane::RecordType::question) {
    watch.on_question(*this, body, now);
  } else {
    watch.on_answer(*this, body, now);
  }
}

void CommCore::detach(bool outstanding) {
  if (context_.peers.report != nullptr) {
    context_.peers.report->remove(*this);
  }
  context_.peers.processes.remove(*this);
  context_.engine.take_submissions();
  leave();
  if (outstanding) {
    abort_lanes(kClosedEarly);
    context_.engine.drain_payload();
    return;
  }
  tell_all(lane::encode_record(lane::RecordType::goodbye, {}));
  close_lanes();
}

// --- memory

Result<transport::MemoryRegion*> CommCore::register_region(void* data, std::size_t size,
                                                           transport::MemoryKind kind) {
  if (kind != transport::MemoryKind::host) {
    return Error{Errc::invalid_argument,
                 "the TCP transport registers host memory only: it offers no GPUDirect"};
  }
  Result<hugepage::Region*> shared = context_.regions.add(data, size);
  if (!shared) {
    return shared.error();
  }
  auto* region = new Region;
  region->shared = *shared;
  region->data = data;
  region->size = size;
  return static_cast<transport::MemoryRegion*>(region);
}

Status CommCore::deregister_region(transport::MemoryRegion* region) {
  if (region == nullptr) {
    return {};
  }
  const std::unique_ptr<Region> owned(static_cast<Region*>(region));
  {
    const EngineGuard guard(context_.engine.lock());
    // Requests that the engine has not taken yet are outstanding too.
    context_.engine.take_submissions();
    if (!failed() && uses(owned->data, owned->size)) {
      fail(Error{
          Errc::invalid_usage,
          fmt::format("{} comm: memory was deregistered while requests on it were outstanding", direction_)});
    }
    context_.engine.drain_payload();
  }
  context_.regions.remove(owned->shared);
  return {};
}

}  // namespace tfabric::tcp
