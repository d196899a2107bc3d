#include "tools/perf/ring_allreduce.h"

#include <fmt/format.h>

namespace tfabric::perf {
namespace {

constexpr int kTag = 1;

// Plain loops over restrict-free arrays: the compiler vectorises them with a run-time overlap check.
template <class Element>
void add_elements(std::byte* into, const std::byte* from, std::uint64_t count) {
  auto* const a = reinterpret_cast<Element*>(into);
  const auto* const b = reinterpret_cast<const Element*>(from);
  for (std::uint64_t i = 0; i < count; ++i) a[i] += b[i];
}

}  // namespace

RingAllreduce::RingAllreduce(const RingChannel& channel, const RingSchedule& schedule, ElementType type)
    : channel_(channel),
      schedule_(schedule),
      type_(type),
      send_requests_(channel.outstanding, nullptr),
      receive_requests_(channel.outstanding, nullptr) {}

std::byte* RingAllreduce::staging_slot(std::uint64_t receive) const {
  return channel_.staging + (receive % channel_.outstanding) * channel_.slice_elements * kElementBytes;
}

void RingAllreduce::add(const Slice& slice, const std::byte* received) const {
  std::byte* const into = channel_.data + slice.range.begin * kElementBytes;
  if (type_ == ElementType::float32) {
    add_elements<float>(into, received, slice.range.count);
  } else {
    add_elements<std::uint32_t>(into, received, slice.range.count);
  }
}

Result<bool> RingAllreduce::reap_receives() {
  bool moved = false;
  while (receives_done_ < receives_posted_) {
    int size = -1;
    const auto finished =
        channel_.plugin->test(receive_requests_[receives_done_ % channel_.outstanding], &size);
    if (!finished) return finished.error();
    if (!*finished) break;
    const Slice& slice = schedule_.receives[receives_done_];
    const std::uint64_t expected = slice.range.count * kElementBytes;
    if (size < 0 || static_cast<std::uint64_t>(size) != expected) {
      return Error{Errc::internal, fmt::format("received {} bytes where {} were sent", size, expected)};
    }
    if (slice.reduce) add(slice, staging_slot(receives_done_));
    ++receives_done_;
    moved = true;
  }
  return moved;
}

Result<bool> RingAllreduce::reap_sends() {
  bool moved = false;
  while (sends_done_ < sends_posted_) {
    int size = 0;
    const auto finished = channel_.plugin->test(send_requests_[sends_done_ % channel_.outstanding], &size);
    if (!finished) return finished.error();
    if (!*finished) break;
    ++sends_done_;
    moved = true;
  }
  return moved;
}

Result<bool> RingAllreduce::post_receives() {
  bool moved = false;
  while (receives_posted_ < schedule_.receives.size() &&
         receives_posted_ - receives_done_ < channel_.outstanding) {
    const Slice& slice = schedule_.receives[receives_posted_];
    if (slice.after > sends_done_) break;
    tools::PluginReceive buffer;
    buffer.data =
        slice.reduce ? staging_slot(receives_posted_) : channel_.data + slice.range.begin * kElementBytes;
    buffer.size = slice.range.count * kElementBytes;
    buffer.tag = kTag;
    buffer.memory = slice.reduce ? channel_.staging_memory : channel_.recv_memory;
    const auto posted = channel_.plugin->irecv(channel_.recv_comm, {&buffer, 1});
    if (!posted) return posted.error();
    if (*posted == nullptr) break;
    receive_requests_[receives_posted_ % channel_.outstanding] = *posted;
    ++receives_posted_;
    moved = true;
  }
  return moved;
}

Result<bool> RingAllreduce::post_sends() {
  bool moved = false;
  while (sends_posted_ < schedule_.sends.size() && sends_posted_ - sends_done_ < channel_.outstanding) {
    const Slice& slice = schedule_.sends[sends_posted_];
    if (slice.after > receives_done_) break;
    const auto posted =
        channel_.plugin->isend(channel_.send_comm, channel_.data + slice.range.begin * kElementBytes,
                               slice.range.count * kElementBytes, kTag, channel_.send_memory);
    if (!posted) return posted.error();
    if (*posted == nullptr) break;
    send_requests_[sends_posted_ % channel_.outstanding] = *posted;
    ++sends_posted_;
    moved = true;
  }
  return moved;
}

Result<bool> RingAllreduce::poll() {
  bool moved = false;
  for (const auto step : {&RingAllreduce::post_receives, &RingAllreduce::reap_receives,
                          &RingAllreduce::post_sends, &RingAllreduce::reap_sends}) {
    const auto stepped = (this->*step)();
    if (!stepped) return stepped.error();
    moved = moved || *stepped;
  }
  return moved;
}

}  // namespace tfabric::perf
