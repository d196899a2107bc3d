// Outstanding messages of one comm, driven as NCCL drives them: at most `slots` outstanding, only the
// oldest is tested, a refused post is tried again.
//
// Message number m uses slot m % slots of the buffer. Slots are `stride` bytes apart, and behind each
// receive slot lies a guard. With `verify` each message carries its own pattern, checked on arrival.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "tools/plugin_loader.h"

namespace tfabric::perf {

inline constexpr std::size_t kGuardBytes = 128;

// The distance between slots for messages of `size`, and the buffer for `slots` of them.
[[nodiscard]] std::size_t slot_stride(std::size_t size);
// How many messages of `size` may be outstanding on each of `comms` comms: what is asked for, less where
// the buffers would grow beyond a limit, at least two.
[[nodiscard]] std::size_t slots_for(std::size_t size, std::size_t inflight, std::size_t comms);

struct QueueSetup {
  tools::PluginLoader* plugin = nullptr;
  void* comm = nullptr;
  void* memory = nullptr;
  std::byte* buffer = nullptr;
  std::size_t size = 0;
  std::size_t slots = 1;
  std::uint64_t lane = 0;
  bool verify = false;
  bool from_server = false;  // the direction, for the pattern
};

class MessageQueue {
 public:
  [[nodiscard]] std::uint64_t done() const { return done_; }
  [[nodiscard]] std::uint64_t posted() const { return posted_; }

 protected:
  explicit MessageQueue(const QueueSetup& setup) : setup_(setup), requests_(setup.slots, nullptr) {}
  [[nodiscard]] bool has_room() const { return posted_ - done_ < setup_.slots; }
  [[nodiscard]] void*& request(std::uint64_t message) { return requests_[message % setup_.slots]; }
  [[nodiscard]] std::span<std::byte> slot(std::uint64_t message) const;

  QueueSetup setup_;
  std::vector<void*> requests_;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
};

class SendQueue : public MessageQueue {
 public:
  explicit SendQueue(const QueueSetup& setup) : MessageQueue(setup) {}
  // Completes what is done and posts up to message number `limit`. True if anything moved.
  Result<bool> poll(std::uint64_t limit);

 private:
  Result<bool> reap();
};

class ReceiveQueue : public MessageQueue {
 public:
  explicit ReceiveQueue(const QueueSetup& setup) : MessageQueue(setup) {}
  Result<bool> poll(std::uint64_t limit);
  [[nodiscard]] std::uint64_t wrong_bytes() const { return wrong_; }

 private:
  Result<bool> reap();
  std::uint64_t wrong_ = 0;
};

}  // namespace tfabric::perf
