// Ethernet frames as the emulator sees them: a handle and a size, and a queue of them. The emulator owns the
// frames that it is given; a FrameStore knows their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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
  // Returns the first bytes of a frame, contiguous: at least the Ethernet header, unless the frame is
  // shorter.
  [[nodiscard]] virtual std::span<const std::byte> head(const Frame& frame) const = 0;
  // Returns all bytes of a frame, contiguous and not shared; the frame may get another handle. Empty if no
  // buffer is free; the frame is unchanged then.
  [[nodiscard]] virtual std::span<std::byte> writable(Frame& frame) = 0;
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

// A first-in-first-out queue that grows and never shrinks, so that it does not allocate in the steady state.
class TimedQueue {
 public:
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::size_t size() const { return tail_ - head_; }
  [[nodiscard]] const TimedFrame& front() const { return items_[head_ & (items_.size() - 1)]; }
  void pop() { ++head_; }
  void push(const TimedFrame& frame) {
    if (size() == items_.size()) {
      grow();
    }
    items_[tail_++ & (items_.size() - 1)] = frame;
  }

 private:
  void grow() {
    std::vector<TimedFrame> larger(items_.size() * 2);
    for (std::size_t i = head_; i != tail_; ++i) {
      larger[i & (larger.size() - 1)] = items_[i & (items_.size() - 1)];
    }
    items_.swap(larger);
  }

  std::vector<TimedFrame> items_ = std::vector<TimedFrame>(64);  // the size is always a power of two
  std::size_t head_ = 0, tail_ = 0;                              // counts of all pops and pushes
};

}  // namespace tfabric::wire
