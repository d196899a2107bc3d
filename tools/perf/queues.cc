#include "tools/perf/queues.h"

#include <algorithm>

#include "tools/perf/pattern.h"

namespace tfabric::perf {
namespace {

// All buffers of one direction together stay below this, except that each comm has two slots.
constexpr std::size_t kBufferBudget = std::size_t{256} << 20;
// NCCL's buffers are aligned so, and its LL128 protocol relies on it.
constexpr std::size_t kSlotAlignment = 128;
// Any tag will do: NCCL's is the rank of the sender, constant on a comm.
constexpr int kTag = 1;

}  // namespace

std::size_t slot_stride(std::size_t size) {
  return (size + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment + kGuardBytes;
}

std::size_t slots_for(std::size_t size, std::size_t inflight, std::size_t comms) {
  const std::size_t fitting = kBufferBudget / (slot_stride(size) * comms);
  return std::max<std::size_t>(std::min(inflight, std::max<std::size_t>(fitting, 2)), 1);
}

std::span<std::byte> MessageQueue::slot(std::uint64_t message) const {
  return {setup_.buffer + (message % setup_.slots) * slot_stride(setup_.size), slot_stride(setup_.size)};
}

Result<bool> SendQueue::reap() {
  bool moved = false;
  while (done_ < posted_) {
    int size = 0;
    const auto finished = setup_.plugin->test(request(done_), &size);
    if (!finished) return finished.error();
    if (!*finished) break;
    ++done_;
    moved = true;
  }
  return moved;
}

Result<bool> SendQueue::poll(std::uint64_t limit) {
  auto moved = reap();
  if (!moved) return moved;
  while (posted_ < limit && has_room()) {
    const auto data = slot(posted_).first(setup_.size);
    if (setup_.verify) fill_pattern(data, message_seed(setup_.lane, posted_, setup_.from_server));
    const auto sent = setup_.plugin->isend(setup_.comm, data.data(), data.size(), kTag, setup_.memory);
    if (!sent) return sent.error();
    if (*sent == nullptr) break;
    request(posted_) = *sent;
    ++posted_;
    moved = true;
  }
  return moved;
}

Result<bool> ReceiveQueue::reap() {
  bool moved = false;
  while (done_ < posted_) {
    int size = -1;
    const auto finished = setup_.plugin->test(request(done_), &size);
    if (!finished) return finished.error();
    if (!*finished) break;
    if (size < 0 || static_cast<std::size_t>(size) != setup_.size) {
      wrong_ += std::max<std::size_t>(setup_.size, 1);
    } else if (setup_.verify) {
      const auto area = slot(done_);
      wrong_ += count_wrong(area.first(setup_.size), message_seed(setup_.lane, done_, setup_.from_server));
      wrong_ += count_overrun(area.subspan(setup_.size));
    }
    ++done_;
    moved = true;
  }
  return moved;
}

Result<bool> ReceiveQueue::poll(std::uint64_t limit) {
  auto moved = reap();
  if (!moved) return moved;
  while (posted_ < limit && has_room()) {
    const auto area = slot(posted_);
    // The old contents must not pass for the new message.
    if (setup_.verify) fill_guard(area);
    const tools::PluginReceive buffer{area.data(), setup_.size, kTag, setup_.memory};
    const auto received = setup_.plugin->irecv(setup_.comm, {&buffer, 1});
    if (!received) return received.error();
    if (*received == nullptr) break;
    request(posted_) = *received;
    ++posted_;
    moved = true;
  }
  return moved;
}

}  // namespace tfabric::perf
