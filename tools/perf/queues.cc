#include "tools/perf/queues.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tfabric::perf {
namespace {

constexpr std::byte kGuard{0xa5};

// The finaliser of splitmix64: every input bit affects every output bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::uint64_t word_at(std::uint64_t seed, std::size_t index) {
  return mix(seed + index * 0x9e3779b97f4a7c15);
}

// The limit of all buffers of one direction together, unless two slots per comm exceed it.
constexpr std::size_t kBufferBudget = std::size_t{256} << 20;
// The alignment of NCCL's buffers, on which its LL128 protocol relies.
constexpr std::size_t kSlotAlignment = 128;
// Any constant works: NCCL's tag is the rank of the sender, which does not change on a comm.
constexpr int kTag = 1;

}  // namespace

std::uint64_t message_seed(std::uint64_t lane, std::uint64_t message, bool from_server) {
  return mix((lane << 40) + message * 2 + (from_server ? 1 : 0) + 1);
}

void fill_pattern(std::span<std::byte> data, std::uint64_t seed) {
  for (std::size_t at = 0; at < data.size(); at += 8) {
    const std::uint64_t word = word_at(seed, at / 8);
    std::memcpy(data.data() + at, &word, std::min<std::size_t>(8, data.size() - at));
  }
}

std::uint64_t count_wrong(std::span<const std::byte> data, std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (std::size_t at = 0; at < data.size(); at += 8) {
    const std::size_t length = std::min<std::size_t>(8, data.size() - at);
    const std::uint64_t word = word_at(seed, at / 8);
    if (std::memcmp(data.data() + at, &word, length) == 0) continue;
    std::array<std::byte, 8> expected;
    std::memcpy(expected.data(), &word, 8);
    for (std::size_t i = 0; i < length; ++i) wrong += data[at + i] != expected[i] ? 1 : 0;
  }
  return wrong;
}

void fill_guard(std::span<std::byte> guard) { std::fill(guard.begin(), guard.end(), kGuard); }

std::uint64_t count_overrun(std::span<const std::byte> guard) {
  return static_cast<std::uint64_t>(
      std::count_if(guard.begin(), guard.end(), [](std::byte b) { return b != kGuard; }));
}

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
  while (posted_ < bound(limit) && has_room()) {
    const bool mark = end_ && posted_ >= *end_;
    const auto data = slot(posted_).first(mark ? 0 : setup_.size);
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
    if (size == 0 && setup_.size > 0) {
      if (!end_) end_ = done_;
    } else if (end_ || size < 0 || static_cast<std::size_t>(size) != setup_.size) {
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
  while (posted_ < bound(limit) && has_room()) {
    const auto area = slot(posted_);
    // The old content must not be mistaken for the new message.
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
