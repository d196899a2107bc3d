#include "transport/rdma/lane/send_comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace tfabric::rdma {
namespace {

// The size of LL128 lines, which NCCL's GPU kernels poll.
constexpr std::uint32_t kLine = 128;
// The end of a message of at least this size is signalled even in the middle of a chain.
constexpr std::uint32_t kSignalBytes = 64u << 10;

std::uint32_t part_of(std::uint32_t size, std::uint32_t queue_pairs) {
  const std::uint32_t share = (size + queue_pairs - 1) / queue_pairs;
  return (share + kLine - 1) / kLine * kLine;
}

}  // namespace

void SendRequest::release_memory() {
  if (region != nullptr) {
    --region->uses;
  }
}

SendComm::SendComm(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Meeting> meeting)
    : CommOf(std::move(endpoint), std::move(meeting), "send"), requests_(*this) {
  open();
}

SendComm::~SendComm() { close(); }

// --- Matching messages to receives

Announcement& SendComm::announced(std::uint32_t number, std::uint32_t index) {
  return endpoint().block().announcements[slot_of(number) + index];
}

bool SendComm::see_group() {
  const auto is_there = [&](std::uint32_t index) {
    // The peer's HCA may write it at any time.
    return std::atomic_ref(announced(next_, index).number).load(std::memory_order_acquire) == next_ + index;
  };
  if (!is_there(0)) {
    return false;
  }
  const std::uint32_t members = read_once(announced(next_, 0).count);
  const std::uint32_t queue_pair = read_once(announced(next_, 0).queue_pair);
  const std::optional<QueuePairs> carriers = named_by(queue_pair);
  bool sound = carriers && members >= 1 && members <= transport::kMaxGroupedReceives;
  for (std::uint32_t i = 1; sound && i < members; ++i) {
    if (!is_there(i)) {
      return false;
    }
    Announcement& member = announced(next_, i);
    sound = read_once(member.count) == members && read_once(member.queue_pair) == queue_pair;
  }
  if (!sound) {
    fail(Error{
        Errc::remote,
        fmt::format("send comm: {} announced a malformed group of receives ({} receives, queue pair {:#x}): "
                    "install the same libnccl-net.so on all hosts",
                    endpoint().peer(), members, queue_pair)});
    return false;
  }
  members_ = members;
  carriers_ = *carriers;
  matched_ = 0;
  return true;
}

std::optional<QueuePairs> SendComm::named_by(std::uint32_t queue_pair) {
  const auto all = static_cast<std::uint32_t>(endpoint().data_pairs());
  if (queue_pair == kAllQueuePairs) {
    return QueuePairs{.begin = 0, .end = all};
  }
  return queue_pair < all ? std::optional(QueuePairs{.begin = queue_pair, .end = queue_pair + 1})
                          : std::nullopt;
}

std::optional<std::uint32_t> SendComm::match(int tag) {
  if (members_ == 0 && !see_group()) {
    return std::nullopt;
  }
  for (std::uint32_t i = 0; i < members_; ++i) {
    if ((matched_ >> i & 1u) == 0 && announced(next_, i).tag == static_cast<std::uint32_t>(tag)) {
      return i;
    }
  }
  return std::nullopt;
}

void SendComm::address(SendRequest& request, std::uint32_t index) {
  const Announcement& to = announced(next_, index);
  request.remote = to.address;
  request.rkeys = to.rkeys;
  request.number = next_;
  request.members = members_;
  request.queues_left = carriers_;
  request.part = part_of(request.size, carriers_.count());
  endpoint().block().sizes[slot_of(next_) + index] = request.size;
  matched_ |= 1u << index;
  request.closes = static_cast<std::uint32_t>(std::popcount(matched_)) == members_;
  if (request.closes) {
    next_ += members_;
    members_ = 0;
  }
}

Result<transport::Request*> SendComm::isend(const void* data, std::size_t size, int tag,
                                            transport::MemoryRegion* region) {
  const Turn turn(taken_);
  if (!turn) {
    return static_cast<transport::Request*>(nullptr);
  }
  if (failed()) {
    return post_after_failure(requests_);
  }
  if (const Status memory = check_memory("isend", data, size, region); !memory) {
    return memory.error();
  }
  if (size > transport::kMaxMessageBytes) {
    return Error{Errc::invalid_argument,
                 fmt::format("isend of {} bytes: at most {}", size, transport::kMaxMessageBytes)};
  }
  const std::optional<std::uint32_t> receive =
      joined() && requests_.any_free() ? match(tag) : std::optional<std::uint32_t>();
  if (!receive) {
    // The caller may have no request to test meanwhile, so make progress here.
    traffic().refusals.add(1);
    traffic().refused.set(true);
    traffic().tag.set(tag);
    if (!failed()) {
      progress();
    }
    if (failed()) {
      return post_after_failure(requests_);
    }
    return static_cast<transport::Request*>(nullptr);
  }
  if (const std::uint32_t room = read_once(announced(next_, *receive).size); size > room) {
    return refuse(size, *receive, room);
  }
  SharedTraffic& traffic = this->traffic();
  traffic.posted.add(1);
  traffic.moves.add(1);
  traffic.refused.set(false);
  traffic.tag.set(tag);
  SendRequest& request = requests_.acquire();
  request.messages = 1;
  request.bytes = size;
  request.data = static_cast<const std::byte*>(data);
  request.size = static_cast<std::uint32_t>(size);
  request.region = size > 0 ? static_cast<Region*>(region) : nullptr;
  request.begin = request.offset = 0;
  request.any_staged = request.sizes_staged = false;
  if (request.region != nullptr) {
    ++request.region->uses;
  }
  address(request, *receive);
  backlog_.push(&request);
  if (request.closes) {
    pump();
  }
  return static_cast<transport::Request*>(&request);
}

// Reports the size to the receiver, whose receive would never end otherwise, unless the queues are too full.
Error SendComm::refuse(std::size_t size, std::uint32_t index, std::uint32_t room) {
  Error error{
      Errc::invalid_usage,
      fmt::format("message truncated: {} bytes were sent to a receive of {} bytes by {}; the two ranks "
                  "call different operations or counts",
                  size, room, endpoint().peer())};
  pump();
  const std::size_t queue = carriers_.begin;
  const std::uint32_t marked = kTooLarge | static_cast<std::uint32_t>(size);
  if (backlog_.empty() && !failed()) {
    SendRequest& request = requests_.acquire();
    address(request, index);
    endpoint().block().sizes[slot_of(request.number) + index] = marked;
    if (stage_sizes(request, queue) && stage_empty(queue, marked)) {
      post(queues()[queue]);
    }
  }
  fail_softly(std::move(error));
  return this->error();
}

// --- Staging

void SendComm::pump() {
  while (!backlog_.empty() && stage(*backlog_.front())) {
    SendRequest& request = *backlog_.front();
    backlog_.pop();
    --request.parts;
    ended(request);
  }
  for (std::size_t i = 0; i < queues().size() && !failed(); ++i) {
    post(queues()[i]);
  }
}

bool SendComm::stage(SendRequest& request) {
  while (request.queues_left.count() > 0) {
    const std::size_t queue = request.queues_left.begin;
    if (!stage_part(request, queue)) {
      return false;
    }
    if (request.any_staged) {
      queues()[queue].owe(request, request.size >= kSignalBytes);
    }
    request.any_staged = false;
    ++request.queues_left.begin;
    request.begin = request.offset = std::min(request.size, request.begin + request.part);
  }
  return true;
}

bool SendComm::stage_part(SendRequest& request, std::size_t queue) {
  const bool single = request.members == 1;
  const bool apart = !single || request.size > endpoint().options().adaptive_routing_bytes;
  const bool empty = request.begin == request.size;
  if (!stage_data(request, queue, apart)) {
    return false;
  }
  if (single ? !apart && !empty : !request.closes) {
    return true;
  }
  if (!single && !stage_sizes(request, queue)) {
    return false;
  }
  request.any_staged = true;
  return stage_empty(queue, single ? request.size : request.number & ~kTooLarge);
}

bool SendComm::stage_data(SendRequest& request, std::size_t queue, bool immediate_apart) {
  const std::size_t rail = endpoint().pairs()[queue].rail;
  const std::uint32_t end = std::min(request.size, request.begin + request.part);
  while (request.offset < end) {
    if (!make_room(queues()[queue])) {
      return false;
    }
    const std::uint32_t length =
        std::min(end - request.offset, endpoint().rails()[rail]->max_message_bytes / kLine * kLine);
    const bool last = request.offset + length == end;
    queues()[queue].stage(
        {.opcode = last && !immediate_apart ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
         .local = reinterpret_cast<std::uint64_t>(request.data) + request.offset,
         .length = length,
         .lkey = request.region->leases[rail].mr->lkey,
         .remote = request.remote + request.offset,
         .rkey = request.rkeys[rail],
         .imm = request.size});
    request.offset += length;
    request.any_staged = true;
  }
  return true;
}

// The sizes go before the first of the group's immediates on the same queue pair, which keeps the order.
bool SendComm::stage_sizes(SendRequest& request, std::size_t queue) {
  if (request.sizes_staged || request.members == 1) {
    return true;
  }
  if (!make_room(queues()[queue])) {
    return false;
  }
  const std::size_t rail = endpoint().pairs()[queue].rail;
  const std::uint64_t offset = sizes_offset(request.number);
  queues()[queue].stage({.opcode = IBV_WR_RDMA_WRITE,
                         .local = reinterpret_cast<std::uint64_t>(&endpoint().block()) + offset,
                         .length = static_cast<std::uint32_t>(request.members * sizeof(std::uint32_t)),
                         .lkey = endpoint().block_mr(rail).lkey,
                         .remote = endpoint().remote().block + offset,
                         .rkey = endpoint().remote().rails[rail].block_rkey,
                         .control = true});
  request.sizes_staged = request.any_staged = true;
  return true;
}

bool SendComm::stage_empty(std::size_t queue, std::uint32_t immediate) {
  if (!make_room(queues()[queue])) {
    return false;
  }
  // The HCA ignores address and key of a write of no bytes.
  queues()[queue].stage({.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm = immediate});
  return true;
}

void SendComm::on_immediate(std::size_t queue, std::uint32_t /*immediate*/) {
  fail(Error{Errc::remote, fmt::format("send comm: {} carried a message to this end, which only sends",
                                       endpoint().name_of(queue))});
}

}  // namespace tfabric::rdma
