// The outstanding messages of one comm, and the test data in them.
//
// Requests are handled as NCCL handles them: at most `slots` are outstanding, only the oldest is tested, and
// a refused post is tried again. Message number m uses slot m % slots of the buffer; a guard follows the data
// in each slot. With `verify`, each message carries a pattern of its own, which the receiver checks. One
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "tools/plugin_loader.h"

namespace tfabric::perf {

// The pattern depends on the message's seed and, in each 8-byte word, on the word's index, so that wrong
// bytes, bytes of another message and shifted bytes are detected. `lane` and `message` are numbers;
// `from_server` is the direction.
[[nodiscard]] std::uint64_t message_seed(std::uint64_t lane, std::uint64_t message, bool from_server);
void fill_pattern(std::span<std::byte> data, std::uint64_t seed);
// Returns how many bytes differ from what fill_pattern() wrote.
[[nodiscard]] std::uint64_t count_wrong(std::span<const std::byte> data, std::uint64_t seed);

// The guard after a receive buffer shows writes beyond the message.
inline constexpr std::size_t kGuardBytes = 128;
void fill_guard(std::span<std::byte> guard);
[[nodiscard]] std::uint64_t count_overrun(std::span<const std::byte> guard);

// Returns the distance between slots for messages of `size` bytes, guard included.
[[nodiscard]] std::size_t slot_stride(std::size_t size);
// Returns how many messages of `size` bytes may be outstanding on each of `comms` comms: `inflight`, or fewer
// if the buffers would exceed a limit, but at least two.
[[nodiscard]] std::size_t slots_for(std::size_t size, std::size_t inflight, std::size_t comms);

struct QueueSetup {
  tools::PluginLoader* plugin = nullptr;
  void* comm = nullptr;
  void* memory = nullptr;
  std::byte* buffer = nullptr;  // slots * slot_stride(size) bytes, registered as `memory`
  std::size_t size = 0;
  std::size_t slots = 1;
  std::uint64_t lane = 0;
  bool verify = false;
  bool from_server = false;
};

// A run has a number of messages that both sides know, and may end earlier: by time, or by the user. Its
// sender then sends messages without a byte, as many as can be outstanding (one for each receive that may be
// posted already). The first of them tells the receiver; so neither side needs to agree on a number over the
// control connection, and no posted receive is left over. A run of messages without a byte cannot end
// earlier.
class MessageQueue {
 public:
  // Completed messages, without those that only mark the end.
  [[nodiscard]] std::uint64_t done() const { return end_ ? std::min(done_, *end_) : done_; }
  [[nodiscard]] std::uint64_t posted() const { return posted_; }
  [[nodiscard]] bool ended() const { return end_.has_value(); }
  // Returns true if all messages of a run of `limit` are complete, without those that only mark an earlier
  // end.
  [[nodiscard]] bool complete(std::uint64_t limit) const { return done() == end_.value_or(limit); }
  // Returns true if all messages of a run of `limit` are complete, including those that mark an earlier end.
  [[nodiscard]] bool finished(std::uint64_t limit) const { return done_ == bound(limit); }

 protected:
  explicit MessageQueue(const QueueSetup& setup) : setup_(setup), requests_(setup.slots, nullptr) {}
  [[nodiscard]] bool has_room() const { return posted_ - done_ < setup_.slots; }
  [[nodiscard]] void*& request(std::uint64_t message) { return requests_[message % setup_.slots]; }
  [[nodiscard]] std::span<std::byte> slot(std::uint64_t message) const;
  // The number of messages in all.
  [[nodiscard]] std::uint64_t bound(std::uint64_t limit) const {
    return end_ ? std::min(limit, *end_ + setup_.slots) : limit;
  }

  QueueSetup setup_;
  std::optional<std::uint64_t> end_;  // the number of the first message that marks the end
  std::vector<void*> requests_;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
};

// poll() completes what is done and posts messages while fewer than `limit` are posted in total. Returns true
// if it completed or posted anything.
class SendQueue : public MessageQueue {
 public:
  explicit SendQueue(const QueueSetup& setup) : MessageQueue(setup) {}
  Result<bool> poll(std::uint64_t limit);
  // Ends the run after what is posted.
  void end() {
    if (setup_.size > 0 && !end_) end_ = posted_;
  }

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
