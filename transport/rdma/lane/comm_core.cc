#include "transport/rdma/lane/comm_core.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "transport/rdma/lane/open_comms.h"
#include "transport/rdma/lane/queue_pair.h"
#include "transport/rdma/lane/work_queues.h"

namespace tfabric::rdma {
namespace {

// Completions taken by one call.
constexpr int kPoll = 16;

}  // namespace

Result<bool> Request::test(int* sizes) { return comm->test(*this, sizes); }

CommCore::CommCore(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Meeting> meeting,
                   const char* direction)
    : endpoint_(std::move(endpoint)),
      meeting_(std::move(meeting)),
      joined_(meeting_ == nullptr),
      direction_(direction),
      heartbeat_(endpoint_->options().heartbeat, endpoint_->options().now) {
  if (endpoint_->connected()) {
    open_queues();
  }
}

void CommCore::open_queues() {
  const auto& pairs = endpoint_->pairs();
  queues_.reserve(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    queues_.emplace_back(*pairs[i].qp, static_cast<std::uint32_t>(i), pairs[i].cap);
  }
}

void CommCore::open() {
  for (const Rail* rail : endpoint_->rails()) {
    if (rail->comms != nullptr) {
      rail->comms->add(*this);
    }
  }
}

void CommCore::close() {
  // First, since others take their turns for as long as they know the comm.
  for (const Rail* rail : endpoint_->rails()) {
    if (rail->comms != nullptr) {
      rail->comms->remove(*this);
    }
  }
  for (const SendQueue& queue : queues_) {
    counters_.work_requests += queue.posted();
    counters_.doorbells += queue.posts();
  }
  // Of several rails the first tells what was done.
  if (OpenComms* comms = endpoint_->rails().front()->comms; comms != nullptr) {
    comms->count(counters_);
  }
  const Turn turn(taken_, Turn::Wait{});
  fence();
  const std::lock_guard lock(regions_mutex_);
  for (const auto& region : regions_) {
    release_leases(*region);
  }
  regions_.clear();
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
      request.tell_sizes(sizes);
    }
    request.give_back();
    return true;
  }
  if (failed_) {
    request.give_back();
    return error_;
  }
  return false;
}

bool CommCore::join() {
  if (!joined_) {
    const Result<bool> joined = meeting_->join(*endpoint_, endpoint_->options().now());
    if (!joined) {
      fail(Error{joined.error().code, fmt::format("{} comm: {}", direction_, joined.error().message)});
      return false;
    }
    if (*joined && queues_.empty()) {
      open_queues();
    }
    joined_ = *joined;
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

void CommCore::progress() {
  if (!join()) {
    return;
  }
  if (poll() > 0) {
    heartbeat_.heard();
  } else if (!failed_ && heartbeat_.quiet_turn()) {
    ask_peer();
    watch_peer();
  }
  if (!failed_) {
    pump();
  }
}

// Where a completion is awaited, it will tell.
void CommCore::ask_peer() {
  for (std::size_t i = 0; i < endpoint_->data_pairs(); ++i) {
    SendQueue& queue = queues_[i];
    if (!queue.awaited() && make_room(queue)) {
      queue.stage({.opcode = ibv::WrOpcode::rdma_write});
      queue.signal();
      post(queue);
    }
  }
}

// Whether its rank is still there.
Status CommCore::peer_status() {
  return meeting_ == nullptr ? Status() : meeting_->watch(endpoint_->options().now());
}

void CommCore::watch_peer() {
  const Status there = peer_status();
  // What it wrote before it went may have come since the last look.
  if (!there && poll() == 0 && !failed_) {
    fail(Error{there.error().code, fmt::format("{} comm: {}", direction_, there.error().message)});
  }
}

std::size_t CommCore::poll() {
  std::array<ibv::Wc, kPoll> completions;
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
  return all;
}

void CommCore::on_completion(const ibv::Wc& completion) {
  ++counters_.completions;
  const WorkId id = unpack_work_id(completion.wr_id);
  if (completion.status != ibv::WcStatus::success) {
    const Status there = peer_status();
    fail(Error{Errc::remote, fmt::format("{} comm: {}{}", direction_,
                                         completion_fault(completion, endpoint_->name_of(id.queue)),
                                         there ? "" : "; " + there.error().message)});
  } else if (id.receive) {
    on_immediate(id.queue, ntohl(completion.imm_data));
  } else {
    queues_[id.queue].complete(id.number, ended);
  }
}

void CommCore::ended(WorkOwner& owner) {
  if (owner.parts == 0) {
    auto& request = static_cast<Request&>(owner);
    request.state = Request::State::done;
    request.let_go();
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
    error_ = std::move(error);
    if (meeting_ != nullptr) {
      meeting_->give_up(error_.message);
    }
  }
}

void CommCore::fail(Error error) {
  if (!failed_) {
    fail_softly(std::move(error));
    endpoint_->stop();
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
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if ((data == nullptr && size > 0) || size > std::numeric_limits<std::uintptr_t>::max() / 2 - begin) {
    return Error{Errc::invalid_argument,
                 fmt::format("registration of {} bytes at {}: there is no such memory", size, data)};
  }
  auto region = std::make_unique<Region>();
  region->data = data;
  region->size = size;
  region->kind = kind;
  const auto& rails = endpoint_->rails();
  for (std::size_t i = 0; i < rails.size(); ++i) {
    auto lease = rails[i]->registrations->acquire(data, size, kind, dmabuf);
    if (!lease) {
      release_leases(*region);
      return Error{lease.error().code, fmt::format("{}: {}", rails[i]->name, lease.error().message)};
    }
    region->leases[i] = *lease;
  }
  transport::MemoryRegion* handle = region.get();
  const std::lock_guard lock(regions_mutex_);
  regions_.push_back(std::move(region));
  return handle;
}

Status CommCore::deregister_region(transport::MemoryRegion* handle) {
  if (handle == nullptr) {
    return {};
  }
  const std::unique_ptr<Region> region = take_out(handle);
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
  release_leases(*region);
  return {};
}

// Empty if it is not of this comm; the handle is not looked into, as nothing may be there.
std::unique_ptr<Region> CommCore::take_out(const transport::MemoryRegion* handle) {
  const std::lock_guard lock(regions_mutex_);
  const auto found =
      std::find_if(regions_.begin(), regions_.end(), [&](const auto& each) { return each.get() == handle; });
  if (found == regions_.end()) {
    return nullptr;
  }
  std::unique_ptr<Region> region = std::move(*found);
  regions_.erase(found);
  return region;
}

void CommCore::release_leases(Region& region) {
  const auto& rails = endpoint_->rails();
  for (std::size_t i = 0; i < rails.size(); ++i) {
    if (region.leases[i].mr != nullptr) {
      rails[i]->registrations->release(region.leases[i]);
    }
  }
}

Status CommCore::check_memory(const char* what, const void* data, std::size_t bytes,
                              const transport::MemoryRegion* region) const {
  if (bytes == 0 || (region != nullptr && static_cast<const Region*>(region)->covers(data, bytes))) {
    return {};
  }
  return Error{Errc::invalid_argument,
               fmt::format("{} of {} bytes at {}: {}", what, bytes, data,
                           region == nullptr ? "its memory is not registered on this comm"
                                             : "they are not all in the memory of the registration given")};
}

}  // namespace tfabric::rdma
