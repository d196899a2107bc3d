// One channel of a ring all-reduce through a plugin: receives from the rank before, adds, sends to the
// rank behind, with several slices on the way at once.
//
// In place: the buffer's elements are replaced by the sums over all ranks. Reduce-scatter receives go to
// staging slots, all-gather receives straight into the buffer. One thread; poll() never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "tools/perf/lanes.h"
#include "tools/perf/ring.h"

namespace tfabric::perf {

// 4-byte elements of both kinds; sums of integers wrap.
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

class RingAllreduce {
 public:
  // `schedule` must live as long as this.
  RingAllreduce(const RingChannel& channel, const RingSchedule& schedule, ElementType type);

  // True if anything moved.
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
