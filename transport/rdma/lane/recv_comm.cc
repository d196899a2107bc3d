#include "transport/rdma/lane/recv_comm.h"

#include <fmt/format.h>

#include <algorithm>

namespace tfabric::rdma {

void ReceiveRequest::report_sizes(int* sizes) const {
  for (std::uint32_t i = 0; i < count; ++i) {
    sizes[i] = static_cast<int>(buffers[i].arrived);
  }
}

void ReceiveRequest::release_memory() {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (buffers[i].region != nullptr) {
      --buffers[i].region->uses;
    }
  }
}

Result<std::unique_ptr<RecvComm>> RecvComm::create(std::unique_ptr<Endpoint> endpoint,
                                                   std::unique_ptr<Meeting> meeting) {
  std::unique_ptr<RecvComm> comm(new RecvComm(std::move(endpoint), std::move(meeting)));
  if (const Status filled = comm->fill_receive_queues(); !filled) {
    return filled.error();
  }
  comm->open();
  return comm;
}

RecvComm::RecvComm(std::unique_ptr<Endpoint> with, std::unique_ptr<Meeting> meeting)
    : CommOf(std::move(with), std::move(meeting), "receive"),
      requests_(*this),
      flusher_(*this),
      open_(std::make_unique<std::array<Open, kGroups>>()) {
  for (std::size_t i = 0; i < endpoint().data_pairs(); ++i) {
    receives_.emplace_back(*endpoint().pairs()[i].qp, static_cast<std::uint32_t>(i));
  }
}

RecvComm::~RecvComm() { close(); }

// The peer writes only to announced receives, so posting receives here is early enough.
Status RecvComm::fill_receive_queues() {
  for (std::size_t i = 0; i < receives_.size(); ++i) {
    if (const int returned = receives_[i].fill(); returned != 0) {
      return Error{Errc::system, fmt::format("{}: no receives can be posted: {}", endpoint().name_of(i),
                                             verbs_fault(returned))};
    }
  }
  return {};
}

// --- posting

Status RecvComm::check(const char* what, std::span<const transport::ReceiveBuffer> buffers) const {
  if (buffers.empty() || buffers.size() > transport::kMaxGroupedReceives) {
    return Error{Errc::invalid_argument, fmt::format("{} of {} buffers: 1 to {} can be grouped", what,
                                                     buffers.size(), transport::kMaxGroupedReceives)};
  }
  for (const transport::ReceiveBuffer& buffer : buffers) {
    if (Status memory = check_memory(what, buffer.data, buffer.size, buffer.region); !memory) {
      return memory;
    }
  }
  return {};
}

bool RecvComm::has_room(std::size_t receives) const {
  const std::uint32_t oldest = first_group_ == next_group_ ? next_ : (*open_)[first_group_ % kGroups].number;
  return requests_.any_free() && next_ - oldest + receives <= kReceives;
}

Result<transport::Request*> RecvComm::irecv(std::span<const transport::ReceiveBuffer> buffers) {
  const Turn turn(taken_);
  if (!turn) {
    return static_cast<transport::Request*>(nullptr);
  }
  if (failed()) {
    return post_after_failure(requests_);
  }
  if (const Status sound = check("irecv", buffers); !sound) {
    return sound.error();
  }
  if (!has_room(buffers.size())) {
    progress();
    if (failed()) {
      return post_after_failure(requests_);
    }
    return static_cast<transport::Request*>(nullptr);
  }
  ReceiveRequest& request = accept(buffers);
  traffic().posted.add(request.count);
  traffic().tag.set(buffers[0].tag);
  const std::uint32_t queue_pair = choose_queue_pair(request);
  request.parts = 0;
  for (std::size_t i = 0; i < receives_.size(); ++i) {
    if (queue_pair == kAllQueuePairs || queue_pair == i) {
      receives_[i].expect(request);
      ++request.parts;
    }
  }
  write_announcement(request, buffers, queue_pair);
  unannounced_.push({.number = request.number, .count = request.count});
  if (join()) {
    announce();
  }
  if (!unannounced_.empty() && !failed()) {
    progress();  // completions free room in the queue
  }
  return static_cast<transport::Request*>(&request);
}

ReceiveRequest& RecvComm::accept(std::span<const transport::ReceiveBuffer> buffers) {
  ReceiveRequest& request = requests_.acquire();
  request.count = static_cast<std::uint32_t>(buffers.size());
  request.number = next_;
  request.group = next_group_++;
  request.any_arrived = false;
  request.messages = request.count;
  request.bytes = 0;
  next_ += request.count;
  (*open_)[request.group % kGroups] = {.number = request.number, .complete = false};
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::size_t capacity = std::min<std::size_t>(buffers[i].size, transport::kMaxMessageBytes);
    request.buffers[i] = {.capacity = static_cast<std::uint32_t>(capacity),
                          .arrived = 0,
                          .region = capacity > 0 ? static_cast<Region*>(buffers[i].region) : nullptr};
    if (request.buffers[i].region != nullptr) {
      ++request.buffers[i].region->uses;
    }
  }
  return request;
}

std::uint32_t RecvComm::choose_queue_pair(const ReceiveRequest& request) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < request.count; ++i) {
    bytes += request.buffers[i].capacity;
  }
  if (bytes > endpoint().options().split_bytes) {
    return kAllQueuePairs;
  }
  const auto one = static_cast<std::uint32_t>(turn_);
  turn_ = (turn_ + 1) % receives_.size();
  return one;
}

// Writes the announcement to our own block, from where it is sent.
void RecvComm::write_announcement(const ReceiveRequest& request,
                                  std::span<const transport::ReceiveBuffer> buffers,
                                  std::uint32_t queue_pair) {
  for (std::uint32_t i = 0; i < request.count; ++i) {
    Announcement& out = endpoint().block().announcements[slot_of(request.number) + i];
    out = {.address = reinterpret_cast<std::uint64_t>(buffers[i].data),
           .size = request.buffers[i].capacity,
           .tag = static_cast<std::uint32_t>(buffers[i].tag),
           .rkeys = {},
           .queue_pair = queue_pair,
           .count = request.count,
           .reserved = {},
           .number = request.number + i};
    const Region* region = request.buffers[i].region;
    for (std::size_t rail = 0; region != nullptr && rail < endpoint().rails().size(); ++rail) {
      out.rkeys[rail] = region->leases[rail].mr->rkey;
    }
  }
}

void RecvComm::announce() {
  const std::size_t rail = endpoint().pairs()[0].rail;
  SendQueue& queue = queues()[0];
  while (!unannounced_.empty() && make_room(queue)) {
    const Group group = unannounced_.front();
    unannounced_.pop();
    const std::uint64_t offset = announcement_offset(group.number);
    queue.stage({.opcode = IBV_WR_RDMA_WRITE,
                 .local = reinterpret_cast<std::uint64_t>(&endpoint().block()) + offset,
                 .length = static_cast<std::uint32_t>(group.count * sizeof(Announcement)),
                 .lkey = endpoint().block_mr(rail).lkey,
                 .remote = endpoint().remote().block + offset,
                 .rkey = endpoint().remote().rails[rail].block_rkey,
                 .control = true});
  }
  if (!failed()) {
    post(queue);
  }
}

// --- what arrives

void RecvComm::on_immediate(std::size_t queue, std::uint32_t immediate) {
  ReceiveRequest* request = receives_[queue].take();
  if (const int returned = receives_[queue].refill(); returned != 0) {
    fail(Error{Errc::system, fmt::format("receive comm: {}: no receives can be posted: {}",
                                         endpoint().name_of(queue), verbs_fault(returned))});
    return;
  }
  if (request == nullptr) {
    fail(Error{Errc::remote,
               fmt::format("receive comm: {} carried a message for which no receive was announced",
                           endpoint().name_of(queue))});
    return;
  }
  if ((immediate & kTooLarge) != 0) {
    fail(too_large(*request, immediate));
    return;
  }
  --request->parts;
  Status taken = request->count == 1 ? take_size(*request, immediate) : Status{};
  if (taken && request->parts == 0 && request->count > 1) {
    taken = take_sizes(*request);
  }
  if (!taken) {
    fail(taken.error());
  } else if (request->parts == 0) {
    complete(*request);
  }
}

Status RecvComm::take_size(ReceiveRequest& request, std::uint32_t immediate) {
  ReceiveRequest::Buffer& buffer = request.buffers[0];
  if (request.any_arrived && immediate != buffer.arrived) {
    return Error{
        Errc::remote,
        fmt::format("receive comm: {} says on one queue pair that a message has {} bytes, on another {}",
                    endpoint().peer(), buffer.arrived, immediate)};
  }
  if (immediate > buffer.capacity) {
    return Error{Errc::remote, fmt::format("receive comm: {} says that {} bytes are in a receive of {} bytes",
                                           endpoint().peer(), immediate, buffer.capacity)};
  }
  buffer.arrived = immediate;
  request.any_arrived = true;
  return {};
}

Status RecvComm::take_sizes(ReceiveRequest& request) {
  std::uint32_t* sizes = &endpoint().block().sizes[slot_of(request.number)];
  for (std::uint32_t i = 0; i < request.count; ++i) {
    ReceiveRequest::Buffer& buffer = request.buffers[i];
    const std::uint32_t size = read_once(sizes[i]);
    if (size > buffer.capacity) {
      return Error{
          Errc::remote,
          fmt::format("receive comm: {} says that {} bytes are in receive {} of a group, of {} bytes",
                      endpoint().peer(), size, i, buffer.capacity)};
    }
    buffer.arrived = size;
  }
  return {};
}

Error RecvComm::too_large(const ReceiveRequest& request, std::uint32_t immediate) {
  const std::uint32_t* sizes = &endpoint().block().sizes[slot_of(request.number)];
  std::uint32_t which = 0;
  while (request.count > 1 && which + 1 < request.count && sizes[which] != immediate) {
    ++which;
  }
  return Error{
      Errc::invalid_usage,
      fmt::format("message truncated: {} bytes were sent by {} to a receive of {} bytes; the two ranks call "
                  "different operations or counts",
                  immediate & ~kTooLarge, endpoint().peer(), request.buffers[which].capacity)};
}

void RecvComm::complete(ReceiveRequest& request) {
  for (std::uint32_t i = 0; i < request.count; ++i) {
    request.bytes += request.buffers[i].arrived;
  }
  (*open_)[request.group % kGroups].complete = true;
  while (first_group_ != next_group_ && (*open_)[first_group_ % kGroups].complete) {
    ++first_group_;
  }
  ended(request);
}

// --- flushing

Result<transport::Request*> RecvComm::iflush(std::span<const transport::ReceiveBuffer> buffers) {
  // Waits for the turn, because a null request would mean that there is nothing to flush.
  const Turn turn(taken_, Turn::Wait{});
  if (failed()) {
    return error();
  }
  if (const Status sound = check("iflush", buffers); !sound) {
    return sound.error();
  }
  if (!endpoint().options().flush || !Flusher::concerns(buffers)) {
    return static_cast<transport::Request*>(nullptr);
  }
  ++counters().flushes;
  FlushRequest* request = flusher_.add(buffers);
  if (request == nullptr) {
    return Error{Errc::internal,
                 fmt::format("iflush: {} flushes are outstanding already", transport::kMaxRequests)};
  }
  pump();
  return static_cast<transport::Request*>(request);
}

void RecvComm::pump() {
  announce();
  while (FlushRequest* request = flusher_.next()) {
    for (; request->rails_staged < endpoint().rails().size(); ++request->rails_staged) {
      const std::size_t rail = request->rails_staged;
      SendQueue& queue = queues()[endpoint().flush_pair(rail)];
      const auto pad = reinterpret_cast<std::uint64_t>(&endpoint().block().flush_pad[rail]);
      if (queue.room() < request->count) {
        post(queue);
      }
      if (failed() || !Flusher::stage(*request, rail, endpoint(), pad, queue)) {
        return;
      }
      queue.owe(*request, /*signal=*/false);
    }
    flusher_.pop();
    --request->parts;
    ended(*request);
  }
  for (std::size_t i = endpoint().data_pairs(); i < queues().size() && !failed(); ++i) {
    post(queues()[i]);
  }
}

}  // namespace tfabric::rdma
