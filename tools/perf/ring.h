// The index arithmetic of a ring all-reduce: which part of the buffer each rank sends and receives when.
//
// The buffer is cut into one chunk a rank; steps 0 ... N-2 are the reduce-scatter, steps N-1 ... 2N-3 the
// all-gather. A chunk travels in slices. What a rank receives in step s it sends on in step s+1, so its
// slices of step s+1 are those it received in step s, in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tfabric::perf {

struct Range {
  std::uint64_t begin = 0;  // elements
  std::uint64_t count = 0;
  bool operator==(const Range&) const = default;
};

// Chunk `chunk` of `count` elements among `ranks`: sizes differ by at most one, all chunks together are
// the whole. Chunks may be empty.
[[nodiscard]] Range ring_chunk(std::uint64_t count, std::uint32_t ranks, std::uint32_t chunk);

[[nodiscard]] inline std::uint32_t ring_steps(std::uint32_t ranks) { return 2 * (ranks - 1); }
[[nodiscard]] std::uint32_t ring_send_chunk(std::uint32_t ranks, std::uint32_t rank, std::uint32_t step);
[[nodiscard]] std::uint32_t ring_receive_chunk(std::uint32_t ranks, std::uint32_t rank, std::uint32_t step);

// One message of the schedule.
struct Slice {
  Range range;
  bool reduce = false;  // receive: add to what is there (else replace it)
  // Messages of the other direction that must be over first: for a send, receives that bring what it
  // sends; for a receive into the result itself, the send that still reads the old contents.
  std::uint64_t after = 0;
};

struct RingSchedule {
  std::vector<Slice> sends;
  std::vector<Slice> receives;
};

// All messages of `rank`, in order, for the elements `whole`, at most `slice_elements` (> 0) in each. An
// empty chunk is one empty message. `ranks` >= 2.
[[nodiscard]] RingSchedule ring_schedule(Range whole, std::uint32_t ranks, std::uint32_t rank,
                                         std::uint64_t slice_elements);

}  // namespace tfabric::perf
