#include "transport/comm/comm_core.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "transport/comm/wait_facts.h"
#include "transport/lane/flow_failure.h"
#include "transport/report/engine_report.h"

namespace tfabric::comm {

using lane::Lane;

// --- lanes

CommCore::CommCore(const Context& context, bool sends)
    : context_(context),
      requests_(context.progress),
      suspicion_(*this, lanes_),
      sends_(sends),
      outage_({.outage = context.options.outage, .frozen = context.options.frozen}) {
  if (context_.peers.report != nullptr) {
    context_.peers.report->add(*this);
  }
}

Lane& CommCore::adopt(std::unique_ptr<Lane> lane, stripe::LaneSerial serial) {
  return lanes_.take(std::move(lane), serial, direction(),
                     [this](const Lane& old) TF_IN_TURN { return is_free(old); });
}

Status CommCore::on_read(std::span<const std::byte> body) {
  const auto report = lane::decode_position(body);
  Lane* lane = report ? lanes_.find(report->serial) : nullptr;
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
  if (lane.carries()) {
    fail(std::move(named));
  } else {
    give_up(lane, named);
  }
}

void CommCore::on_lost(Lane& lane) {
  // What ends a lane before it carries may be anybody, whose words do not count.
  const bool carried = lane.carries();
  lane.shut();
  suspicion_.forget(lane);
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
    lane.keep(loss.why);
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
  return loss.refused && lane.traits().refusal_means_gone && in_use() && !lanes_.any_carries() &&
         !stands_by(lane) && !session::PeerProcesses::vouches(*this);
}

// What is in the network on this lane will not arrive: the lane is given up if there is a way around.
void CommCore::on_away(Lane& lane) {
  if (failed() || lane.carrier().ends_with_link()) {
    return;
  }
  if (lanes_.any_carries(&lane)) {
    give_up(lane, failure_of(lane, Lane::Silence::unreachable));
  } else {
    on_alone();
  }
}

Error CommCore::failure_of(const Lane& lane, Lane::Silence silence) const {
  return {Errc::remote,
          fmt::format("{}: {}", lane.name(), lane.describe(silence, in_use(), context_.engine.last_turn()))};
}

void CommCore::fail_if_silent() {
  for (std::size_t i = 0; i < lanes_.size() && !failed(); ++i) {
    const Lane& lane = lanes_.at({i});
    if (lane.is_open() && (lane.carrier().is_away() || lane.lacks_neighbour())) {
      fail(failure_of(lane, Lane::Silence::unreachable));
    }
  }
}

void CommCore::begin_outage(Error why, Instant since, std::optional<Duration> patience) {
  if (outage_.begin(std::move(why), since, context_.engine.paused(), patience)) {
    context_.peers.processes.want(*this);
  }
  tend();
}

std::optional<Error> CommCore::outage_over(Instant now) {
  auto over = outage_.over(now, context_.engine.paused(), session::PeerProcesses::view(*this));
  if (!over) {
    return std::nullopt;
  }
  const auto silent =
      std::find_if(lanes_.begin(), lanes_.end(), [](const auto& lane) TF_IN_TURN { return lane->carries(); });
  if (silent != lanes_.end() && !over->stopped) {
    const Lane& lane = **silent;
    return failure_of(lane, lane.carrier().is_away() ? Lane::Silence::unreachable : Lane::Silence::timed_out);
  }
  if (over->process) {
    return std::move(over->why);
  }
  const auto seconds = std::chrono::duration<double>(over->passed).count();
  return Error{
      over->why.code,
      over->stopped
          ? fmt::format("the peer's process has been stopped for {:.1f} s (tcp.frozen_timeout_ms); {}",
                        seconds, over->why.message)
          : fmt::format("{}; no connection for {:.1f} s (tcp.user_timeout_ms)", over->why.message, seconds)};
}

void CommCore::on_process_ended(const std::string& who) {
  if (!failed()) {
    peer_ended_ = true;
    on_peer_ended({Errc::remote, lane::process_ended(who.empty() ? "unknown" : who)});
  }
}

session::ProcessUser::LaneAnswer CommCore::ask_lanes(std::uint32_t doubt) {
  LaneAnswer answer;
  for (const auto& lane : lanes_) {
    if (lane->carries() && !failed()) {
      answer.living = true;
      answer.answered = lane->ask(doubt) || answer.answered;
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
      suspicion_.acquit(*lane);
      lane->retry(now);
    }
  }
}

bool CommCore::in_trouble() const {
  constexpr std::uint32_t kTimeouts = 3;  // of one, or two, a rest of the peer's engine may be the cause
  return !failed() &&
         (in_outage() ||
          std::any_of(lanes_.begin(), lanes_.end(), [](const std::unique_ptr<Lane>& lane) TF_IN_TURN {
            return lane->is_open() && (lane->timeouts_in_row() >= kTimeouts || lane->probes_unanswered() > 0);
          }));
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
  requests_.failure.set(std::move(error));
  leave();
  if (is_by_network(this->error())) {
    lanes_.keep("its comm has failed");
  }
  abort_lanes(this->error().message);
  fail_requests();
}

void CommCore::abort_lanes(std::string_view reason) {
  suspicion_.clear();
  lanes_.abort(reason);
}

void CommCore::close_lanes() {
  suspicion_.clear();
  lanes_.close();
}

void CommCore::show(Sight& sight) const {
  observe::CommFacts& facts = sight.facts;
  observe::put(facts.direction, direction());
  observe::put(facts.state, failed()                               ? "failed"
                            : in_outage() && !lanes_.any_carries() ? "no connection"
                                                                   : doing());
  const Lane* shown = nullptr;
  for (const auto& lane : lanes_) {
    if (lane->is_open()) {
      ++facts.lanes;
      shown = shown == nullptr || stands_by(*shown) ? lane.get() : shown;
    }
  }
  if (shown != nullptr) {
    sight.lane = shown->account();
    if (sight.lane == nullptr) {  // otherwise its path has them
      observe::put(facts.rail, shown->carrier().name());
      observe::put(facts.peer, shown->remote());
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
  if (context_.peers.report == nullptr || (outstanding() == 0 && requests_.posted() == nullptr)) {
    return {};
  }
  const std::string seen = context_.peers.report->watch().on_failed(
      *this, peer_ended_ ? verdict::Cause::peer_dead : verdict::Cause::failed, error.message,
      is_by_network(error), context_.engine.last_turn());
  return seen.empty() ? seen : fmt::format(". Seen before: {}", seen);
}

// --- waits

// A connection that is being made has heard nothing yet.
Instant CommCore::heard_at() const {
  Instant last{};
  for (const auto& lane : lanes_) {
    if (lane->carries()) {
      last = std::max(last, lane->heard_at());
    }
  }
  return last;
}

void CommCore::examine(verdict::WaitFacts& facts, Instant now) {
  facts.sends = sends_;
  facts.outstanding = failed() ? 0 : outstanding();
  facts.messages = traffic().messages;
  facts.needs_receive = needs_receive();
  add_process(facts, context_.peers.processes, *this);
  add_lanes(facts, lanes_, lacks_offered(), now);
  context_.peers.processes.want(*this);
}

void CommCore::send_note(std::vector<std::byte> record) {
  Lane* lane = failed() ? nullptr : suspicion_.speaker(record.size());
  if (lane != nullptr && !lane->has_waiting()) {
    lane->tell(std::move(record));
  }
}

void CommCore::on_note(const lane::RecordHeader& header, std::span<const std::byte> body) {
  if (context_.peers.report == nullptr) {
    return;
  }
  watchdog::CommWatch& watch = context_.peers.report->watch();
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
  lanes_.tell_all(lane::encode_record(lane::RecordType::goodbye, {}));
  close_lanes();
}

// --- memory

Result<transport::MemoryRegion*> CommCore::register_region(const lane::MemoryToRegister& memory) {
  auto region = std::make_unique<Region>();
  region->data = memory.data;
  region->size = memory.size;
  region->kind = memory.kind;
  if (context_.offered != nullptr) {
    auto registered = context_.offered->register_memory(memory);
    if (!registered) {
      return registered.error();
    }
    region->offered = std::move(*registered);
    return static_cast<transport::MemoryRegion*>(region.release());
  }
  if (memory.dmabuf) {
    return Error{Errc::invalid_argument, "the TCP transport does not take DMA-BUF memory"};
  }
  if (memory.kind != transport::MemoryKind::host) {
    return Error{Errc::invalid_argument,
                 "the TCP transport registers host memory only: it offers no GPUDirect"};
  }
  Result<hugepage::Region*> shared = context_.regions.add(memory.data, memory.size);
  if (!shared) {
    return shared.error();
  }
  region->shared = *shared;
  return static_cast<transport::MemoryRegion*>(region.release());
}

Error CommCore::not_registered(const char* call, const void* data, std::size_t size,
                               const transport::MemoryRegion* region) {
  return {Errc::invalid_argument,
          fmt::format("{} of {} bytes at {}: {}", call, size, data,
                      region == nullptr ? "its memory is not registered on this comm"
                                        : "the bytes are not all in the memory of the given registration")};
}

// Lanes end by themselves, and at their carrier's pace: a turn never waits for them.
bool CommCore::await_rest() {
  constexpr Duration kLongest = std::chrono::seconds(10);
  const Instant begin = monotonic_now();
  for (;; sched_yield()) {
    const engine::Guard guard(context_.engine.lock());
    const bool moves =
        moves_memory() || std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) TF_IN_TURN {
          return !lane->is_open() && lane->moves_memory();
        });
    if (!moves || context_.progress.mode() == engine::ProgressMode::by_owner) {
      return true;
    }
    if (monotonic_now() - begin >= kLongest) {
      return false;
    }
    context_.engine.turn();
  }
}

Status CommCore::deregister_region(transport::MemoryRegion* region) {
  if (region == nullptr) {
    return {};
  }
  const std::unique_ptr<Region> owned(static_cast<Region*>(region));
  {
    const engine::Guard guard(context_.engine.lock());
    // Requests that the engine has not taken yet are outstanding too.
    context_.engine.take_submissions();
    if (!failed() && uses(owned->data, owned->size)) {
      fail(Error{Errc::invalid_usage,
                 fmt::format("{} comm: memory was deregistered while requests on it were outstanding",
                             direction())});
    }
    context_.engine.drain_payload();
  }
  if (!await_rest()) {
    return Error{Errc::system,
                 fmt::format("{} comm: an adapter does not end its access to memory that is deregistered",
                             direction())};
  }
  if (owned->shared != nullptr) {
    context_.regions.remove(owned->shared);
  }
  return {};
}

}  // namespace tfabric::comm
