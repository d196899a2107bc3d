// Ethernet frames as the emulator sees them: a handle and a size, and a queue of them. The emulator owns the
// frames that it is given; a FrameStore knows their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <span>

#include "base/time.h"

namespace tfabric::wire {

struct Frame {
  void* handle = nullptr;
  std::uint32_t size = 0;  // from the Ethernet header to the end, without the frame check sequence
};

// Access to the bytes of frames. Frames are passed on by their handles; only what reads, changes or copies
// them uses the store.
class FrameStore {
 public:
  // Returns the first bytes of a frame, contiguous; as a rule, all.
  [[nodiscard]] virtual std::span<const std::byte> head(const Frame& frame) const = 0;
  // Returns all bytes of a frame, to be changed. Empty if they are not in one buffer.
  [[nodiscard]] virtual std::span<std::byte> writable(const Frame& frame) = 0;
  // Returns nothing if no buffer is free.
  [[nodiscard]] virtual std::optional<Frame> copy(const Frame& frame) = 0;
  virtual void release(const Frame& frame) = 0;

 protected:
  ~FrameStore() = default;
};

struct TimedFrame {
  Instant at{};
  Frame frame;
};

using TimedQueue = std::queue<TimedFrame>;

}  // namespace tfabric::wire
