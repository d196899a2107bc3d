#include "tools/perf/ring.h"

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

}  // namespace

Range ring_chunk(std::uint64_t count, std::uint32_t ranks, std::uint32_t chunk) {
  // The first count % ranks chunks have one element more.
  const std::uint64_t least = count / ranks;
  const std::uint64_t longer = count % ranks;
  const std::uint64_t begin = chunk * least + std::min<std::uint64_t>(chunk, longer);
  return {begin, least + (chunk < longer ? 1 : 0)};
}

std::uint32_t ring_send_chunk(std::uint32_t ranks, std::uint32_t rank, std::uint32_t step) {
  // Reduce-scatter starts with the own chunk and goes back by one a step. After N-1 steps the chunk that
  // is complete here is rank+1, which is what the same formula gives: the all-gather just continues.
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
    // The all-gather overwrites a chunk that this rank sent out N-1 steps before the same chunk returns.
    const std::uint64_t sent = send_begin[step - (ranks - 1)];
    for (std::size_t i = first; i < schedule.receives.size(); ++i)
      schedule.receives[i].after = sent + (i - first) + 1;
  }
  const std::uint64_t own = send_begin.size() > 1 ? send_begin[1] : schedule.sends.size();
  for (std::uint64_t i = own; i < schedule.sends.size(); ++i) schedule.sends[i].after = i - own + 1;
  return schedule;
}

}  // namespace tfabric::perf
