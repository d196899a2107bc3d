#include "transport/tcp/comm/comm_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "transport/tcp/lane/flow_failure.h"

namespace tfabric::tcp {

using lane::Lane;

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

Lane& CommCore::adopt(std::unique_ptr<Lane> lane, stripe::LaneSerial serial) {
  std::size_t number = 0;
  while (number < lanes_.size() && (lanes_[number]->is_open() || !is_free(*lanes_[number]))) {
    ++number;
  }
  if (number == lanes_.size()) {
    lanes_.emplace_back();
  }
  lane->attach(*this, *this, inbox_);
  lane->enter({number}, serial, direction_);
  lanes_[number] = std::move(lane);
  return *lanes_[number];
}

Lane* CommCore::find(stripe::LaneSerial serial) const {
  for (const auto& lane : lanes_) {
    if (lane->is_open() && lane->serial() == serial) {
      return lane.get();
    }
  }
  return nullptr;
}

bool CommCore::any_carries(const Lane* except) const {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
    return carries(*lane) &&
           (except == nullptr || (&lane->carrier() != &except->carrier() && !lane->carrier().is_away()));
  });
}

Lane* CommCore::speaker() const {
  Lane* any = nullptr;
  for (const auto& lane : lanes_) {
    if (carries(*lane)) {
      if (!lane->carrier().is_away() && !suspects(*lane)) {
        return lane.get();
      }
      any = lane.get();
    }
  }
  return any;
}

void CommCore::tell_all(const std::vector<std::byte>& record) {
  for (const auto& lane : lanes_) {
    if (carries(*lane)) {
      lane->tell(record);
    }
  }
}

Status CommCore::on_read(std::span<const std::byte> body) {
  const auto report = lane::decode_position(body);
  Lane* lane = report ? find(report->serial) : nullptr;
  if (!report || (lane != nullptr && !lane->on_report(report->position))) {
    return Error{Errc::internal, "the peer reports that it has read what was not sent"};
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

// What is wrong on a lane that does not carry yet is not the peer's: whoever sent it has not shown the token.
void CommCore::on_fault(Lane& lane, const Error& why) {
  Error named{why.code, fmt::format("{}: {}", lane.name(), why.message)};
  if (carries(lane)) {
    fail(std::move(named));
  } else {
    give_up(lane, named);
  }
}

void CommCore::on_lost(Lane& lane) {
  // What ends a lane before it carries may be anybody, whose words do not count.
  const bool carried = carries(lane);
  lane.shut();
  forget(lane);
  if (failed()) {
    return;
  }
  const Instant now = context_.engine.last_turn();
  const lane::Loss loss = lane.loss(in_use(), now);
  timed_out_ = loss.timed_out && !lane.carrier().is_away();
  const bool gone = shows_end_of_process(lane, loss);
  peer_ended_ = peer_ended_ || gone || loss.process_over;
  const std::string reason = carried ? loss.reason : std::string();
  peer_closed_ = peer_closed_ || !reason.empty();
  if (reason != lane::kClosedEarly) {
    keep(lane, loss.why);
  }
  // A way without a link, or on which nobody answers, has been silent for as long as that took to find. But
  // it may work again by now, and the sender, whose lane was idle as well, takes a moment to make another
  // one.
  const Duration least = Duration(context_.options.outage) / 4;
  const Instant since = loss.silent_since == Instant{}
                            ? now
                            : std::max(loss.silent_since, now - context_.options.outage + least);
  on_lane_failed(lane, {.why = {Errc::remote,
                                fmt::format("{}: {}", lane.name(), gone ? lane::process_ended() : loss.why)},
                        .since = since,
                        .over = !reason.empty() || loss.process_over || gone});
}

// The kernel of the peer's host refuses connections to a port at which its process no longer listens. So may
// a firewall; a standby is no proof, and the witness knows better.
bool CommCore::shows_end_of_process(const Lane& lane, const lane::Loss& loss) const {
  return loss.refused && lane.traits().refusal_means_gone && in_use() && !any_carries() && !stands_by(lane) &&
         !PeerProcesses::vouches(*this);
}

// What is in the network on this lane will not arrive: the lane is given up if there is a way around.
void CommCore::on_away(Lane& lane) {
  if (failed() || lane.carrier().ends_with_link()) {
    return;
  }
  if (any_carries(&lane)) {
    give_up(lane, failure_of(lane, Lane::Silence::unreachable));
  } else {
    on_alone();
  }
}

void CommCore::watch_closely(Lane& lane) {
  const std::uint32_t timeouts = lane.timeouts_in_row();
  const Instant now = context_.engine.last_turn();
  for (const stripe::LaneId suspect : watch_.on_confirmed(lane.id(), lane.confirmed(), awake_)) {
    at(suspect).retry(now);
  }
  if (timeouts == 0) {
    acquit(lane);
    return;
  }
  if (!carries(lane)) {
    return;
  }
  if (!any_carries(&lane)) {
    if (timeouts >= stripe::Watch::kSuspected) {
      on_alone();
    }
    return;
  }
  switch (watch_.on_timeouts(lane.id(), timeouts)) {
    case stripe::Watch::Step::suspect:
      on_suspicion(lane, true);
      tend();
      break;
    case stripe::Watch::Step::ask:
      ask_about(lane);
      break;
    case stripe::Watch::Step::none:
      break;
  }
}

void CommCore::acquit(const Lane& lane) {
  if (watch_.acquit(lane.id())) {
    on_suspicion(lane, false);
  }
}

void CommCore::ask_about(const Lane& suspect) {
  for (const auto& witness : lanes_) {
    if (!carries(*witness) || &witness->carrier() == &suspect.carrier() || suspects(*witness)) {
      continue;
    }
    if (witness->say(lane::encode_record(lane::RecordType::ask, {}))) {
      watch_.asked(suspect.id(), witness->id(), witness->given(), suspect.round_trip());
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
    at(*suspect).retry(now);
  }
  if (PeerProcesses::view(*this) == witness::View::stopped) {
    return;  // on_process_resumed() follows
  }
  for (const stripe::LaneId suspect : watch_.due_questions(awake_)) {
    ask_about(at(suspect));
  }
  while (const auto verdict = watch_.verdict(awake_)) {
    Lane& dead = at(verdict->dead);
    const auto silent = now - dead.progressed_at();
    give_up(dead, Error{Errc::remote,
                        fmt::format("{}: nothing has arrived for {} ms, while the peer answers over rail {}",
                                    dead.name(),
                                    std::chrono::duration_cast<std::chrono::milliseconds>(silent).count(),
                                    at(verdict->witness).carrier().name())});
  }
}

Error CommCore::failure_of(const Lane& lane, Lane::Silence silence) const {
  return {Errc::remote,
          fmt::format("{}: {}", lane.name(), lane.describe(silence, in_use(), context_.engine.last_turn()))};
}

void CommCore::fail_if_silent() {
  for (std::size_t i = 0; i < lanes_.size() && !failed(); ++i) {
    const Lane& lane = *lanes_[i];
    if (lane.is_open() && (lane.carrier().is_away() || lane.lacks_neighbour())) {
      fail(failure_of(lane, Lane::Silence::unreachable));
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
  const auto silent =
      std::find_if(lanes_.begin(), lanes_.end(), [this](const auto& lane) { return carries(*lane); });
  if (passed < limit || undecided) {
    return std::nullopt;
  }
  if (silent != lanes_.end() && !stopped) {
    const Lane& lane = **silent;
    return failure_of(lane, lane.carrier().is_away() ? Lane::Silence::unreachable : Lane::Silence::timed_out);
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
    on_peer_ended({Errc::remote, lane::process_ended(who.empty() ? "unknown" : who)});
  }
}

ProcessUser::LaneAnswer CommCore::ask_lanes(std::uint32_t doubt) {
  LaneAnswer answer;
  for (std::size_t i = 0; i < lanes_.size() && !failed(); ++i) {
    if (carries(*lanes_[i])) {
      answer.living = true;
      answer.answered = lanes_[i]->ask(doubt) || answer.answered;
    }
  }
  return answer;
}

// What waits for the peer is sent again at once, instead of when the time-outs say, which have grown.
// Suspicions begin anew: what came meanwhile waits at the peer in queues, and a long one takes it longer than
// an answer over another rail.
void CommCore::on_process_resumed(Duration stop) {
  const Instant now = context_.engine.last_turn();
  for (const auto& lane : lanes_) {
    if (lane->is_open()) {
      lane->forgive(stop, now);
      acquit(*lane);
      lane->retry(now);
    }
  }
}

bool CommCore::in_trouble() const {
  constexpr std::uint32_t kTimeouts = 3;  // of one, or two, a rest of the peer's engine may be the cause
  return !failed() &&
         (outage_ || std::any_of(lanes_.begin(), lanes_.end(), [](const std::unique_ptr<Lane>& lane) {
            return lane->is_open() && (lane->timeouts_in_row() >= kTimeouts || lane->probes_unanswered() > 0);
          }));
}

void CommCore::enqueue(Request& request) {
  const bool queued = posted_.push(&request);
  assert(queued);
  static_cast<void>(queued);
  context_.engine.submit(*this);
}

void CommCore::keep(const Lane& lane, std::string_view why) {
  if (engine::FlowAccount* account = lane.account(); account != nullptr) {
    account->keep(why);
  }
}

void CommCore::keep_lanes(std::string_view why) const {
  for (const auto& lane : lanes_) {
    if (lane->is_open()) {
      keep(*lane, why);
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
  for (const auto& lane : lanes_) {
    if (lane->is_open()) {
      forget(*lane);
      lane->abort(carries(*lane) ? reason : std::string_view());
    }
  }
}

void CommCore::close_lanes() {
  for (const auto& lane : lanes_) {
    if (lane->is_open()) {
      forget(*lane);
      lane->close();
    }
  }
}

void CommCore::show(Sight& sight) const {
  observe::CommFacts& facts = sight.facts;
  observe::put(facts.direction, direction_);
  observe::put(facts.state, failed() ? "failed" : outage_ && !any_carries() ? "no connection" : doing());
  for (const auto& lane : lanes_) {
    if (lane->is_open()) {
      ++facts.lanes;
      sight.lane = lane->account();
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

verdict::LaneFacts CommCore::facts_of(const Lane& lane, Instant now) {
  const engine::Carrier& carrier = lane.carrier();
  return {.rail = carrier.name(),
          .reports_reads = !lane.traits().acknowledged_means_arrived,
          .no_link = carrier.is_away(),
          .no_link_for = now - carrier.away_since().value_or(now),
          .no_neighbour = lane.lacks_neighbour(),
          .driver_stalled = carrier.is_stalled(),
          .unacknowledged = lane.awaits_peer(),
          .repetitions = lane.timeouts_in_row(),
          .unheard = now - lane.heard_at(),
          .round_trip = lane.round_trip()};
}

// A connection that is being made has heard nothing yet.
Instant CommCore::heard_at() const {
  Instant last{};
  for (const auto& lane : lanes_) {
    if (carries(*lane)) {
      last = std::max(last, lane->heard_at());
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
  for (const auto& lane : lanes_) {
    if (carries(*lane)) {
      facts.address = lane->remote();
      facts.lanes.push_back(facts_of(*lane, now));
    }
  }
  context_.peers.processes.want(*this);
}

void CommCore::send_note(std::vector<std::byte> record) {
  Lane* lane = failed() ? nullptr : speaker();
  if (lane != nullptr && !lane->has_waiting()) {
    lane->tell(std::move(record));
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
    abort_lanes(lane::kClosedEarly);
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
