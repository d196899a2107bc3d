#include "transport/rdma/lane/comm_core.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "transport/rdma/lane/open_comms.h"
#include "transport/rdma/lane/queue_pair.h"
#include "transport/rdma/lane/work_queues.h"

namespace tfabric::rdma {
namespace {

// Completions per call of poll_cq.
constexpr int kPoll = 16;

}  // namespace

Result<bool> Request::test(int* sizes) { return comm->test(*this, sizes); }

CommCore::CommCore(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Meeting> meeting,
                   const char* direction)
    : endpoint_(std::move(endpoint)),
      meeting_(std::move(meeting)),
      joined_(meeting_ == nullptr),
      direction_(direction),
      heartbeat_(endpoint_->options().heartbeat, endpoint_->options().now),
      regions_(endpoint_->rails()) {
  if (joined_) {
    set_met();
  }
  if (endpoint_->connected()) {
    open_queues();
  }
}

// What others may read from now on, which does not change any more.
void CommCore::set_met() {
  peer_gid_ = to_string(endpoint_->remote().rails.front().gid);
  met_.store(true, std::memory_order_release);
}

void CommCore::open_queues() {
  const auto& pairs = endpoint_->pairs();
  queues_.reserve(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    queues_.emplace_back(*pairs[i].qp, static_cast<std::uint32_t>(i), pairs[i].cap);
  }
}

void CommCore::open() {
  peer_address_ = meeting_ == nullptr ? std::string() : meeting_->peer();
  const OpenComms* comms = endpoint_->rails().front()->comms;
  if (comms != nullptr && comms->observer() != nullptr) {
    number_ = comms->observer()->add(*this);
    const Turn turn(taken_, Turn::Wait{});  // the watcher's thread may fail it already
    observer_ = comms->observer();
  }
  // This wakes the thread that looks at comms, and so comes when there is one more.
  for (const Rail* rail : endpoint_->rails()) {
    if (rail->comms != nullptr) {
      rail->comms->add(*this);
    }
  }
}

void CommCore::close() {
  // This comes first, because other threads may take the comm's turn while it is in the list.
  for (const Rail* rail : endpoint_->rails()) {
    if (rail->comms != nullptr) {
      rail->comms->remove(*this);
    }
  }
  if (observer_ != nullptr) {
    observer_->remove(*this);
  }
  for (const SendQueue& queue : queues_) {
    counters_.work_requests += queue.posted();
    counters_.doorbells += queue.posts();
  }
  counters_.completions += traffic_.completions.get();
  if (endpoint_->role() == Role::sender) {
    counters_.sent = traffic_.posted.get();
  } else {
    counters_.received = traffic_.messages.get();
  }
  // The counters are added to the first rail's only.
  if (OpenComms* comms = endpoint_->rails().front()->comms; comms != nullptr) {
    comms->count(counters_);
  }
  const Turn turn(taken_, Turn::Wait{});
  fence();
  regions_.release_all();
}

// --- requests

Result<bool> CommCore::test(Request& request, int* sizes) {
  const Turn turn(taken_);
  if (!turn) {
    return false;
  }
  if (request.state == Request::State::pending && !failed_) {
    progress();
  }
  if (request.state == Request::State::done) {
    if (sizes != nullptr) {
      request.report_sizes(sizes);
    }
    request.return_to_pool();
    return true;
  }
  if (failed_) {
    request.return_to_pool();
    reported_ = true;
    return error_;
  }
  return false;
}

bool CommCore::join() {
  if (!joined_) {
    const Result<bool> joined = meeting_->join(*endpoint_, endpoint_->options().now());
    if (!joined) {
      lose_peer(Error{joined.error().code, fmt::format("{} comm: {}", direction_, joined.error().message)});
      return false;
    }
    if (*joined && queues_.empty()) {
      open_queues();
    }
    joined_ = *joined;
    if (joined_) {
      set_met();
    }
  }
  return joined_;
}

bool CommCore::join_from_outside() {
  const Turn turn(taken_);
  if (turn && !failed_ && !joined_ && join()) {
    pump();
  }
  return turn && (failed_ || joined_);
}

// --- looking

void CommCore::look(CommSight& sight, const Look& how) {
  const Turn turn(taken_, Turn::Try{});
  if (turn) {
    look_with_turn(sight, how);
  }
  sight.traffic = traffic_.now();
  if (sight.rail.empty()) {
    sight.sends = endpoint_->role() == Role::sender;
    sight.rail = endpoint_->rails().front()->name;
    sight.peer = peer_address_;
  }
  if (!sight.met && met_.load(std::memory_order_acquire)) {
    sight.met = true;
    sight.queue_pairs = endpoint_->data_pairs();
    sight.peer = peer_gid_;
  }
}

void CommCore::look_with_turn(CommSight& sight, const Look& how) {
  if (how.drive && !failed_) {
    progress();
  }
  if (meeting_ != nullptr) {
    if (how.listen && joined_ && !failed_) {
      // An error is kept by the meeting: the next test() of a request finds it.
      sight.peer_says_nothing_more = !meeting_->watch(endpoint_->options().now());
      sight.kernel_answers = meeting_->kernel_answers();
    }
    if (how.drive && joined_ && !failed_) {
      static_cast<void>(may_be_there());
    }
    sight.peer_has_left = meeting_->peer_has_left() && departure_.state() != Departure::State::stays;
    sight.peer_has_gone = peer_has_gone();
    sight.peer_is_cut_off = meeting_->is_cut_off() && departure_.state() != Departure::State::gone;
    while (auto note = meeting_->take_note()) {
      sight.notes.push_back(std::move(*note));
    }
  }
  sight.awaited =
      std::any_of(queues_.begin(), queues_.end(), [](const SendQueue& queue) { return queue.awaited(); });
}

bool CommCore::send_note(Note::Kind kind, std::span<const std::byte> body) {
  const Turn turn(taken_, Turn::Try{});
  if (!turn || !joined_ || failed_ || meeting_ == nullptr || !meeting_->takes_notes()) {
    return false;
  }
  meeting_->send_note(kind, body);
  return true;
}

void CommCore::progress() {
  if (!join()) {
    return;
  }
  if (poll() > 0) {
    heartbeat_.completed();
  } else if (!failed_ && heartbeat_.quiet_turn()) {
    probe_peer(/*all=*/false);
    watch_peer();
  }
  if (!failed_) {
    pump();
  }
}

// A queue with a signalled work request outstanding needs no probe: its completion will show a failure. But
// it takes a while, which `all` does not wait for: of what follows a loss, the peer's HCA says so at once.
void CommCore::probe_peer(bool all) {
  for (std::size_t i = 0; i < endpoint_->data_pairs(); ++i) {
    SendQueue& queue = queues_[i];
    if ((all || !queue.awaited()) && make_room(queue)) {
      queue.stage({.opcode = IBV_WR_RDMA_WRITE});
      queue.signal();
      post(queue);
    }
  }
}

// Returns an error if the peer's rank is gone.
Status CommCore::peer_status() {
  return meeting_ == nullptr ? Status() : meeting_->watch(endpoint_->options().now());
}

// While it is in doubt whether the peer has gone, writes are posted and the next look comes sooner.
bool CommCore::may_be_there() {
  const Departure::State before = departure_.state();
  if (!meeting_->is_cut_off()) {
    return true;
  }
  const Instant now = endpoint_->options().now();
  switch (departure_.look(now, traffic_.completions.get())) {
    case Departure::State::doubt:
      heartbeat_.set_silence(Departure::kInterval);
      probe_peer(/*all=*/true);
      return true;
    case Departure::State::stays:
      heartbeat_.set_silence(endpoint_->options().heartbeat);
      if (before != Departure::State::stays) {
        say_cut_off();
      }
      return true;
    case Departure::State::none:
    case Departure::State::gone:
      break;
  }
  return false;
}

void CommCore::say_cut_off() const {
  TF_INFO(
      "NET/tfabric: {} comm with {}: the connection of the kernel's TCP by which both ends have met is over, "
      "and the peer's HCA still answers: a firewall or a proxy has closed it, or its network is cut. The "
      "comm goes on; the peer's end is noticed after rdma.timeout and rdma.retry_count only",
      direction_, endpoint_->peer());
}

void CommCore::watch_peer() {
  const Status there = peer_status();
  if (!there && meeting_->is_cut_off() && may_be_there()) {
    return;
  }
  // Data that the peer wrote before it ended may have arrived since the last poll.
  if (!there && poll() == 0 && !failed_) {
    lose_peer(Error{there.error().code, fmt::format("{} comm: {}", direction_, there.error().message)});
  }
}

std::size_t CommCore::poll() {
  std::array<ibv_wc, kPoll> completions;
  std::size_t all = 0;
  for (const CompletionQueue& cq : endpoint_->completion_queues()) {
    int taken = kPoll;
    while (taken == kPoll && !failed_) {
      taken = cq->context->ops.poll_cq(cq.get(), kPoll, completions.data());
      for (int i = 0; i < taken && !failed_; ++i) {
        on_completion(completions[static_cast<std::size_t>(i)]);
        ++all;
      }
    }
    if (taken < 0) {
      fail(
          Error{Errc::system, fmt::format("{} comm with {}: its completion queue cannot be read: {}; see the "
                                          "kernel's log (dmesg)",
                                          direction_, endpoint_->peer(), verbs_fault(taken))});
    }
  }
  if (fault_ && !failed_) {
    lose_peer(*fault_);
  }
  return all;
}

void CommCore::on_completion(const ibv_wc& completion) {
  traffic_.completions.add(1);
  const WorkId id = unpack_work_id(completion.wr_id);
  if (completion.status != IBV_WC_SUCCESS) {
    if (!fault_) {
      // The comm fails once all queues are polled: others may hold messages that have arrived.
      const Status there = peer_status();
      fault_ = Error{Errc::remote, fmt::format("{} comm: {}{}", direction_,
                                               completion_fault(completion, endpoint_->name_of(id.queue)),
                                               there ? "" : "; " + there.error().message)};
    }
  } else if (id.receive) {
    traffic_.moves.add(1);
    on_immediate(id.queue, ntohl(completion.imm_data));
  } else {
    queues_[id.queue].complete(id.number, ended);
  }
}

void CommCore::ended(WorkOwner& owner) {
  auto& request = static_cast<Request&>(owner);
  SharedTraffic& traffic = request.comm->traffic_;
  traffic.moves.add(1);
  if (owner.parts == 0) {
    traffic.messages.add(request.messages);
    traffic.bytes.add(request.bytes);
    request.state = Request::State::done;
    request.release_memory();
  }
}

bool CommCore::make_room(SendQueue& queue) {
  if (queue.room() == 0 && queue.free() > 0) {
    post(queue);
  }
  return !failed_ && queue.room() > 0;
}

void CommCore::post(SendQueue& queue) {
  if (const int returned = queue.post(); returned != 0 && !failed_) {
    const auto index = static_cast<std::size_t>(&queue - queues_.data());
    fail(Error{Errc::system, fmt::format("{} comm: {}: nothing can be posted: {}", direction_,
                                         endpoint_->name_of(index), verbs_fault(returned))});
  }
}

// --- failure

void CommCore::fail_softly(Error error) {
  if (!failed_) {
    failed_ = true;
    traffic_.failed.set(true);
    error_ = std::move(error);
    error_.message += seen_before(error_);
    if (meeting_ != nullptr) {
      meeting_->give_up(error_.message);
    }
  }
}

std::string CommCore::seen_before(const Error& error) {
  if (observer_ == nullptr || (traffic_.now().in_flight() == 0 && !traffic_.refused.get())) {
    return {};
  }
  const bool left = meeting_ != nullptr && peer_has_gone();
  const std::string seen = observer_->on_failed(number_, left, error.message);
  return seen.empty() ? seen : fmt::format(". Seen before: {}", seen);
}

void CommCore::fail(Error error) {
  if (!failed_) {
    fail_softly(std::move(error));
    endpoint_->stop();
  }
}

void CommCore::lose_peer(Error error) {
  if (!failed_) {
    peer_lost_ = true;
    fail(std::move(error));
  }
}

void CommCore::fail_from_outside(Error error) {
  const Turn turn(taken_, Turn::Wait{});
  fail(std::move(error));
}

void CommCore::fence() {
  if (!fenced_) {
    fenced_ = true;
    endpoint_->destroy_queue_pairs();
  }
}

bool CommCore::owns(const void* object) const {
  const Turn turn(taken_, Turn::Wait{});
  const auto& pairs = endpoint_->pairs();
  const auto& cqs = endpoint_->completion_queues();
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.qp.get() == object; }) ||
         std::any_of(cqs.begin(), cqs.end(), [&](const auto& cq) { return cq.get() == object; });
}

// --- memory

Result<transport::MemoryRegion*> CommCore::register_region(void* data, std::size_t size,
                                                           transport::MemoryKind kind,
                                                           const std::optional<DmaBuf>& dmabuf) {
  return regions_.add(data, size, kind, dmabuf);
}

Status CommCore::deregister_region(transport::MemoryRegion* handle) {
  if (handle == nullptr) {
    return {};
  }
  const std::unique_ptr<Region> region = regions_.take_out(handle);
  if (region == nullptr) {
    return Error{Errc::invalid_argument,
                 fmt::format("deregistration of {}: no registration on this {} comm, or not any more",
                             fmt::ptr(handle), direction_)};
  }
  {
    const Turn turn(taken_, Turn::Wait{});
    if (region->uses > 0 && !fenced_) {
      fail(Error{Errc::invalid_usage,
                 fmt::format("{} comm with {}: memory was deregistered while requests on it were outstanding",
                             direction_, endpoint_->peer())});
      fence();
    }
  }
  regions_.release(*region);
  return {};
}

}  // namespace tfabric::rdma
