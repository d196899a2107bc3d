// Excludes DPDK's interrupt thread while a burst is in progress, since the driver unmaps the rings of a memif
// peer that has ended (nic/control_thread.h). The forwarding loop holds the gate during each turn; a thread
// that waits for it gets it before the next turn.
#pragma once

#include <sched.h>

#include <atomic>
#include <mutex>

#include "transport/tcp/nic/control_thread.h"

namespace tfabric::wire {

class DataGate final : public nic::DataPathGuard {
 public:
  DataGate() { nic::set_data_path_guard(this); }
  ~DataGate() { nic::set_data_path_guard(nullptr); }
  DataGate(const DataGate&) = delete;
  DataGate& operator=(const DataGate&) = delete;

  void pause() override {
    // Without the flag, a loop that never sleeps would take the mutex again before the waiter wakes.
    wanted_.store(true, std::memory_order_relaxed);
    mutex_.lock();
  }
  void resume() override {
    wanted_.store(false, std::memory_order_relaxed);
    mutex_.unlock();
  }

  // For the loop, by std::lock_guard.
  void lock() {
    while (wanted_.load(std::memory_order_relaxed)) {
      sched_yield();
    }
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::atomic<bool> wanted_{false};
};

}  // namespace tfabric::wire
