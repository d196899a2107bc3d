#include "transport/rdma/lane/send_comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace tfabric::rdma {
namespace {

// LL128 lines; NCCL's GPU kernels poll them.
constexpr std::uint32_t kLine = 128;
// From here on the end of a message is worth a completion of its own, also in the middle of a chain.
constexpr std::uint32_t kSignalBytes = 64u << 10;

std::uint32_t part_of(std::uint32_t size, std::uint32_t queue_pairs) {
  const std::uint32_t share = (size + queue_pairs - 1) / queue_pairs;
  return (share + kLine - 1) / kLine * kLine;
}

}  // namespace

void SendRequest::let_go() {
  if (region != nullptr) {
    --region->uses;
  }
}

SendComm::SendComm(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Meeting> meeting)
    : CommOf(std::move(endpoint), std::move(meeting), "send"), requests_(*this) {
  open();
}

SendComm::~SendComm() { close(); }

// --- which receive a message goes to

Announcement& SendComm::announced(std::uint32_t number, std::uint32_t index) {
  return endpoint().block().announcements[slot_of(number) + index];
}

bool SendComm::see_group() {
  const auto is_there = [&](std::uint32_t index) {
    // The peer's HCA writes it at any time.
    return std::atomic_ref(announced(next_, index).number).load(std::memory_order_acquire) == next_ + index;
  };
  if (!is_there(0)) {
    return false;
  }
  const Announcement& first = announced(next_, 0);
  if (!is_sound(first)) {
    fail(Error{Errc::internal,
               fmt::format("send comm: {} announced a malformed group of receives: install the "
                           "same libnccl-net.so on all hosts",
                           endpoint().peer())});
    return false;
  }
  for (std::uint32_t i = 1; i < first.count; ++i) {
    if (!is_there(i)) {
      return false;
    }
  }
  members_ = first.count;
  matched_ = 0;
  return true;
}

bool SendComm::is_sound(const Announcement& first) {
  const std::uint64_t all = (std::uint64_t{1} << endpoint().data_pairs()) - 1;
  return first.count >= 1 && first.count <= transport::kMaxGroupedReceives && first.queue_pairs != 0 &&
         (first.queue_pairs & ~all) == 0;
}

const Announcement* SendComm::match(int tag) {
  if (members_ == 0 && !see_group()) {
    return nullptr;
  }
  for (std::uint32_t i = 0; i < members_; ++i) {
    const Announcement& receive = announced(next_, i);
    if ((matched_ >> i & 1u) == 0 && receive.tag == static_cast<std::uint32_t>(tag)) {
      return &receive;
    }
  }
  return nullptr;
}

void SendComm::address(SendRequest& request, const Announcement& to) {
  const std::uint32_t index = to.number - next_;
  request.remote = to.address;
  request.rkeys = to.rkeys;
  request.number = next_;
  request.members = members_;
  request.queues_left = announced(next_, 0).queue_pairs;
  request.part = part_of(request.size, static_cast<std::uint32_t>(std::popcount(request.queues_left)));
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
    return error();
  }
  if (const Status memory = check_memory("isend", data, size, region); !memory) {
    return memory.error();
  }
  if (size > transport::kMaxMessageBytes) {
    return Error{Errc::invalid_argument,
                 fmt::format("isend of {} bytes: at most {}", size, transport::kMaxMessageBytes)};
  }
  const Announcement* to = joined() && requests_.any_free() ? match(tag) : nullptr;
  if (to == nullptr) {
    // Nobody may be testing anything meanwhile.
    if (!failed()) {
      progress();
    }
    if (failed()) {
      return error();
    }
    return static_cast<transport::Request*>(nullptr);
  }
  if (size > to->size) {
    return refuse(size, *to);
  }
  SendRequest& request = requests_.acquire();
  request.data = static_cast<const std::byte*>(data);
  request.size = static_cast<std::uint32_t>(size);
  request.region = size > 0 ? static_cast<Region*>(region) : nullptr;
  request.begin = request.offset = 0;
  request.any_staged = request.sizes_staged = false;
  if (request.region != nullptr) {
    ++request.region->uses;
  }
  ++counters().sent;
  address(request, *to);
  backlog_.push(&request);
  if (request.closes) {
    pump();
  }
  return static_cast<transport::Request*>(&request);
}

// The receiver is told, since its receive will never end otherwise; unless the queues are too full for that.
Error SendComm::refuse(std::size_t size, const Announcement& to) {
  Error error{
      Errc::invalid_usage,
      fmt::format("message truncated: {} bytes were sent to a receive of {} bytes by {}; the two ranks "
                  "call different operations or counts",
                  size, to.size, endpoint().peer())};
  pump();
  const auto queue = static_cast<std::size_t>(std::countr_zero(announced(next_, 0).queue_pairs));
  const std::uint32_t told = kTooLarge | static_cast<std::uint32_t>(size);
  if (backlog_.empty() && !failed()) {
    SendRequest& request = requests_.acquire();
    address(request, to);
    endpoint().block().sizes[slot_of(request.number) + (to.number - request.number)] = told;
    if (stage_sizes(request, queue) && stage_empty(queue, told)) {
      post(queues()[queue]);
    }
  }
  fail_softly(std::move(error));
  return this->error();
}

// --- staging

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
  while (request.queues_left != 0) {
    const auto queue = static_cast<std::size_t>(std::countr_zero(request.queues_left));
    if (!stage_part(request, queue)) {
      return false;
    }
    if (request.any_staged) {
      queues()[queue].owe(request, request.size >= kSignalBytes);
    }
    request.any_staged = false;
    request.queues_left &= request.queues_left - 1;
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
        {.opcode = last && !immediate_apart ? ibv::WrOpcode::rdma_write_with_imm : ibv::WrOpcode::rdma_write,
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

// Before the first of the group's immediates, on the same queue pair, which keeps the order.
bool SendComm::stage_sizes(SendRequest& request, std::size_t queue) {
  if (request.sizes_staged || request.members == 1) {
    return true;
  }
  if (!make_room(queues()[queue])) {
    return false;
  }
  const std::size_t rail = endpoint().pairs()[queue].rail;
  const std::uint64_t offset = sizes_offset(request.number);
  queues()[queue].stage({.opcode = ibv::WrOpcode::rdma_write,
                         .local = reinterpret_cast<std::uint64_t>(&endpoint().block()) + offset,
                         .length = static_cast<std::uint32_t>(request.members * sizeof(std::uint32_t)),
                         .lkey = endpoint().block_mr(rail).lkey,
                         .remote = endpoint().remote().block + offset,
                         .rkey = endpoint().remote().rails[rail].block_rkey});
  request.sizes_staged = request.any_staged = true;
  return true;
}

bool SendComm::stage_empty(std::size_t queue, std::uint32_t immediate) {
  if (!make_room(queues()[queue])) {
    return false;
  }
  // Of a write of no bytes neither address nor key is looked at.
  queues()[queue].stage({.opcode = ibv::WrOpcode::rdma_write_with_imm, .imm = immediate});
  return true;
}

void SendComm::on_immediate(std::size_t queue, std::uint32_t /*immediate*/) {
  fail(Error{Errc::internal, fmt::format("send comm: {} has got a message, but its peer only receives",
                                         endpoint().name_of(queue))});
}

}  // namespace tfabric::rdma
