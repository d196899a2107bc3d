// Bounded queues between threads, without locks or allocation after construction.
//
// push() and pop() do not block: they return false if the queue is full or empty, and the caller decides
// what to do about it. `Capacity` is a power of two, and all of it can be used. T is copied.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace tfabric {

// From one producer thread to one consumer thread.
template <class T, std::size_t Capacity>
class SpscRing {
  static_assert((Capacity & (Capacity - 1)) == 0);

 public:
  // Producer only. Returns false if the ring is full.
  bool push(const T& value) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == Capacity) {
      return false;
    }
    items_[tail & (Capacity - 1)] = value;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Consumer only. Returns null if the ring is empty. The item stays until pop().
  [[nodiscard]] const T* front() const {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    return head == tail_.load(std::memory_order_acquire) ? nullptr : &items_[head & (Capacity - 1)];
  }
  void pop() { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  // From either thread.
  [[nodiscard]] bool empty() const {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire);
  }

 private:
  // On separate cache lines, so that the two threads do not take them from each other.
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::array<T, Capacity> items_;
};

// From any number of producer threads to one consumer thread.
//
// A producer that is preempted in the middle of a push blocks the consumer at its cell, but no other
// producer. That matters when there are more threads than CPUs.
template <class T, std::size_t Capacity>
class MpscRing {
  static_assert((Capacity & (Capacity - 1)) == 0);

 public:
  MpscRing() {
    for (std::size_t i = 0; i < Capacity; ++i) {
      cells_[i].turn.store(i, std::memory_order_relaxed);
    }
  }

  // From any thread. Returns false if the ring is full.
  bool push(const T& value) {
    std::size_t tail = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[tail & (Capacity - 1)];
      const std::size_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn == tail) {
        if (tail_.compare_exchange_weak(tail, tail + 1, std::memory_order_relaxed)) {
          cell.value = value;
          cell.turn.store(tail + 1, std::memory_order_release);
          return true;
        }
      } else if (turn + Capacity == tail + 1) {
        return false;  // the item pushed one round earlier is still in the cell
      } else {
        tail = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  // Consumer only. Returns false if the ring is empty, or if the next item is not complete yet.
  bool pop(T& out) {
    Cell& cell = cells_[head_ & (Capacity - 1)];
    if (cell.turn.load(std::memory_order_acquire) != head_ + 1) {
      return false;
    }
    out = cell.value;
    cell.turn.store(head_ + Capacity, std::memory_order_release);
    ++head_;
    return true;
  }

 private:
  // `turn` is the number of the push that the cell waits for, and that number + 1 once the cell has a value.
  struct Cell {
    std::atomic<std::size_t> turn;
    T value{};
  };

  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::size_t head_ = 0;  // of the consumer alone
  alignas(64) std::array<Cell, Capacity> cells_;
};

}  // namespace tfabric
