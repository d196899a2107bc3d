// Mutual exclusion for a comm's state.
//
// The thread that posts and tests never waits: it takes the turn if it is free, at the cost of one atomic
// exchange, and otherwise returns "not now". Threads that deregister memory, close the comm or report its
// failure wait for the turn, which never takes long, because no call on a comm blocks. The thread that looks
// at comms for the page tries for some microseconds at most: one that is being tested is free between two
// calls.
#pragma once

#include <atomic>
#include <thread>

namespace tfabric::rdma {

class Turn {
 public:
  struct Wait {};
  struct Try {};

  explicit Turn(std::atomic_flag& taken)
      : taken_(taken), mine_(!taken.test_and_set(std::memory_order_acquire)) {}
  Turn(std::atomic_flag& taken, Wait /*wait*/) : taken_(taken), mine_(true) {
    while (taken.test_and_set(std::memory_order_acquire)) {
      std::this_thread::yield();
    }
  }
  Turn(std::atomic_flag& taken, Try /*attempt*/) : taken_(taken), mine_(false) {
    // Reading first leaves the line with the thread that has it.
    for (int i = 0; i < kTries && !mine_; ++i) {
      mine_ = !taken.test(std::memory_order_relaxed) && !taken.test_and_set(std::memory_order_acquire);
    }
  }
  ~Turn() {
    if (mine_) {
      taken_.clear(std::memory_order_release);
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  explicit operator bool() const { return mine_; }

 private:
  static constexpr int kTries = 500;  // some nanoseconds each

  std::atomic_flag& taken_;
  bool mine_;
};

}  // namespace tfabric::rdma
