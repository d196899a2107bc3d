// A queue from one thread to one other, without locks or allocation after construction.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace tfabric {

// `Capacity` is a power of two; all of it can be used. T is copied.
template <class T, std::size_t Capacity>
class SpscRing {
  static_assert((Capacity & (Capacity - 1)) == 0);

 public:
  // Producer only. False: full.
  bool push(const T& value) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == Capacity) {
      return false;
    }
    items_[tail & (Capacity - 1)] = value;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Consumer only. Null: empty. The item stays until pop().
  [[nodiscard]] const T* front() const {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    return head == tail_.load(std::memory_order_acquire) ? nullptr : &items_[head & (Capacity - 1)];
  }
  void pop() { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  // Either side.
  [[nodiscard]] bool empty() const {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire);
  }

 private:
  // On lines of their own, so that the two threads do not take them from each other.
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::array<T, Capacity> items_;
};

}  // namespace tfabric
