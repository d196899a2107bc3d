// First in, first out, without allocation after construction; one thread at a time.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <memory>

namespace tfabric::rdma {

// `Capacity` is a power of two.
template <class T, std::size_t Capacity>
class FixedQueue {
  static_assert((Capacity & (Capacity - 1)) == 0);

 public:
  [[nodiscard]] bool empty() const { return first_ == next_; }
  [[nodiscard]] T& front() {
    assert(!empty());
    return (*items_)[first_ % Capacity];
  }
  void push(const T& value) {
    assert(next_ - first_ < Capacity);
    (*items_)[next_++ % Capacity] = value;
  }
  void pop() {
    assert(!empty());
    ++first_;
  }

 private:
  std::unique_ptr<std::array<T, Capacity>> items_ = std::make_unique<std::array<T, Capacity>>();
  std::size_t first_ = 0, next_ = 0;
};

}  // namespace tfabric::rdma
