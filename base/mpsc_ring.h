// A bounded queue from any number of threads to one, without locks or allocation after construction.
//
// Each cell carries the turn that it is good for, so a producer that is interrupted in the middle of a push
// holds up the consumer at its cell, but no other producer: they do not wait for each other. That matters
// where threads outnumber CPUs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace tfabric {

// `Capacity` is a power of two; all of it can be used. T is copied.
template <class T, std::size_t Capacity>
class MpscRing {
  static_assert((Capacity & (Capacity - 1)) == 0);

 public:
  MpscRing() {
    for (std::size_t i = 0; i < Capacity; ++i) {
      cells_[i].turn.store(i, std::memory_order_relaxed);
    }
  }

  // From any thread. False: full.
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
        return false;  // what was put here a round ago is still there
      } else {
        tail = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  // Consumer only. False: empty, or the next one is not complete yet.
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
  // `turn` is the number of the push that the cell waits for, and that number + 1 once it holds its value.
  struct Cell {
    std::atomic<std::size_t> turn;
    T value{};
  };

  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::size_t head_ = 0;  // the consumer's
  alignas(64) std::array<Cell, Capacity> cells_;
};

}  // namespace tfabric
