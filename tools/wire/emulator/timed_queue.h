// A first-in-first-out queue of frames with an instant each, which grows and never shrinks: in the steady
// state it allocates nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "base/time.h"
#include "tools/wire/emulator/frame.h"

namespace tfabric::wire {

struct TimedFrame {
  Instant at{};
  Frame frame;
};

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

  std::vector<TimedFrame> items_ = std::vector<TimedFrame>(64);  // always a power of two
  std::size_t head_ = 0, tail_ = 0;                              // counted from the beginning of time
};

}  // namespace tfabric::wire
