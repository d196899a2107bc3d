#include "tools/perf/ring.h"

#include <fmt/format.h>

#include <algorithm>

namespace tfabric::perf {
namespace {

void append_slices(std::vector<Slice>& slices, Range chunk, std::uint64_t slice_elements, bool reduce) {
  std::uint64_t at = 0;
  do {
    const std::uint64_t length = std::min(slice_elements, chunk.count - at);
    slices.push_back({{chunk.begin + at, length}, reduce, 0});
    at += length;
  } while (at < chunk.count);
}

constexpr int kTag = 1;

// The compiler vectorises this loop, with a run-time check that the arrays do not overlap.
template <class Element>
void add_elements(std::byte* into, const std::byte* from, std::uint64_t count) {
  auto* const a = reinterpret_cast<Element*>(into);
  const auto* const b = reinterpret_cast<const Element*>(from);
  for (std::uint64_t i = 0; i < count; ++i) a[i] += b[i];
}

}  // namespace

Range ring_chunk(std::uint64_t count, std::uint32_t ranks, std::uint32_t chunk) {
  // The first count % ranks chunks have one element more.
  const std::uint64_t least = count / ranks;
  const std::uint64_t longer = count % ranks;
  const std::uint64_t begin = chunk * least + std::min<std::uint64_t>(chunk, longer);
  return {begin, least + (chunk < longer ? 1 : 0)};
}

std::uint32_t ring_send_chunk(std::uint32_t ranks, std::uint32_t rank, std::uint32_t step) {
  // The reduce-scatter starts with the rank's own chunk and goes back by one chunk per step. After N-1 steps
  // chunk rank+1 is complete on this rank, with which the all-gather continues by the same formula.
  return (rank + 2 * ranks - step % ranks) % ranks;
}

std::uint32_t ring_receive_chunk(std::uint32_t ranks, std::uint32_t rank, std::uint32_t step) {
  return ring_send_chunk(ranks, (rank + ranks - 1) % ranks, step);
}

RingSchedule ring_schedule(Range whole, std::uint32_t ranks, std::uint32_t rank,
                           std::uint64_t slice_elements) {
  RingSchedule schedule;
  const auto chunk_range = [&](std::uint32_t chunk) {
    const Range range = ring_chunk(whole.count, ranks, chunk);
    return Range{whole.begin + range.begin, range.count};
  };
  std::vector<std::uint64_t> send_begin;  // index of each step's first send
  for (std::uint32_t step = 0; step < ring_steps(ranks); ++step) {
    const bool reduce = step < ranks - 1;
    send_begin.push_back(schedule.sends.size());
    append_slices(schedule.sends, chunk_range(ring_send_chunk(ranks, rank, step)), slice_elements, false);
    const std::size_t first = schedule.receives.size();
    append_slices(schedule.receives, chunk_range(ring_receive_chunk(ranks, rank, step)), slice_elements,
                  reduce);
    if (reduce) continue;
    // The all-gather overwrites a chunk that this rank sent N-1 steps earlier: that send must be complete.
    const std::uint64_t sent = send_begin[step - (ranks - 1)];
    for (std::size_t i = first; i < schedule.receives.size(); ++i)
      schedule.receives[i].after = sent + (i - first) + 1;
  }
  const std::uint64_t own = send_begin.size() > 1 ? send_begin[1] : schedule.sends.size();
  for (std::uint64_t i = own; i < schedule.sends.size(); ++i) schedule.sends[i].after = i - own + 1;
  return schedule;
}

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
      return Error{Errc::internal, fmt::format("received {} bytes, but {} were sent", size, expected)};
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
