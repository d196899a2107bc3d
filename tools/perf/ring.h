// A ring all-reduce through a plugin: its schedule, and one channel that executes it.
//
// The buffer is cut into one chunk per rank; steps 0 ... N-2 are the reduce-scatter, steps N-1 ... 2N-3 the
// all-gather. A chunk travels in slices, one message each. A rank sends in step s+1 what it has received in
// step s, in the same slices and order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "tools/plugin_loader.h"

namespace tfabric::perf {

struct Range {
  std::uint64_t begin = 0;  // elements
  std::uint64_t count = 0;
  bool operator==(const Range&) const = default;
};

// Returns chunk `chunk` of `count` elements among `ranks`. The chunks cover all elements, their sizes differ
// by at most one, and they may be empty.
[[nodiscard]] Range ring_chunk(std::uint64_t count, std::uint32_t ranks, std::uint32_t chunk);

[[nodiscard]] inline std::uint32_t ring_steps(std::uint32_t ranks) { return 2 * (ranks - 1); }
// The chunk that a rank sends or receives in a step.
[[nodiscard]] std::uint32_t ring_send_chunk(std::uint32_t ranks, std::uint32_t rank, std::uint32_t step);
[[nodiscard]] std::uint32_t ring_receive_chunk(std::uint32_t ranks, std::uint32_t rank, std::uint32_t step);

// One message of the schedule.
struct Slice {
  Range range;
  bool reduce = false;  // of a receive: add to the elements that are there, instead of replacing them
  // How many messages of the other direction must be complete first: for a send, the receives that bring its
  // data; for a receive into the result, the sends that still read the old data.
  std::uint64_t after = 0;
};

struct RingSchedule {
  std::vector<Slice> sends;
  std::vector<Slice> receives;
};

// Returns all messages of `rank`, in order, for the elements `whole`, with at most `slice_elements` (> 0) in
// each. An empty chunk is one empty message. `ranks` >= 2.
[[nodiscard]] RingSchedule ring_schedule(Range whole, std::uint32_t ranks, std::uint32_t rank,
                                         std::uint64_t slice_elements);

// Both have 4 bytes; sums of integers wrap.
enum class ElementType : std::uint8_t { float32, int32 };
inline constexpr std::size_t kElementBytes = 4;

struct RingChannel {
  tools::PluginLoader* plugin = nullptr;
  void* send_comm = nullptr;
  void* recv_comm = nullptr;
  std::byte* data = nullptr;  // the whole buffer, registered on both comms
  void* send_memory = nullptr;
  void* recv_memory = nullptr;
  std::byte* staging = nullptr;  // `outstanding` slots of slice_elements, registered on recv_comm
  void* staging_memory = nullptr;
  std::size_t outstanding = 8;
  std::uint64_t slice_elements = 0;
};

// Executes a schedule in place: the elements of the buffer are replaced by the sums over all ranks. The
// receives of the reduce-scatter use the staging slots, those of the all-gather the buffer itself. One
// thread.
class RingAllreduce {
 public:
  // `schedule` outlives this.
  RingAllreduce(const RingChannel& channel, const RingSchedule& schedule, ElementType type);

  // Never blocks. Returns true if it posted or completed anything.
  Result<bool> poll();
  [[nodiscard]] bool done() const {
    return sends_done_ == schedule_.sends.size() && receives_done_ == schedule_.receives.size();
  }
  [[nodiscard]] std::uint64_t sends_done() const { return sends_done_; }
  [[nodiscard]] std::uint64_t receives_done() const { return receives_done_; }

 private:
  Result<bool> reap_receives();
  Result<bool> reap_sends();
  Result<bool> post_receives();
  Result<bool> post_sends();
  [[nodiscard]] std::byte* staging_slot(std::uint64_t receive) const;
  void add(const Slice& slice, const std::byte* received) const;

  RingChannel channel_;
  const RingSchedule& schedule_;
  ElementType type_;
  std::vector<void*> send_requests_;
  std::vector<void*> receive_requests_;
  std::uint64_t sends_posted_ = 0;
  std::uint64_t sends_done_ = 0;
  std::uint64_t receives_posted_ = 0;
  std::uint64_t receives_done_ = 0;
};

}  // namespace tfabric::perf
