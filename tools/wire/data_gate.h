// Keeps DPDK's interrupt thread and the forwarding loop out of each other's way (port/data_path_guard.h): the
// driver unmaps the rings of a memif peer that has gone only while no burst is under way.
//
// The loop takes the gate for each of its turns; one that wants it meanwhile gets it next.
#pragma once

#include <sched.h>

#include <atomic>
#include <mutex>

#include "transport/tcp/nic/data_path_guard.h"

namespace tfabric::wire {

class DataGate final : public nic::DataPathGuard {
 public:
  DataGate() { nic::set_data_path_guard(this); }
  ~DataGate() { nic::set_data_path_guard(nullptr); }
  DataGate(const DataGate&) = delete;
  DataGate& operator=(const DataGate&) = delete;

  void pause() override {
    // Without it a loop that never sleeps would take the mutex again before a waiter wakes.
    wanted_.store(true, std::memory_order_relaxed);
    mutex_.lock();
  }
  void resume() override {
    wanted_.store(false, std::memory_order_relaxed);
    mutex_.unlock();
  }

  // The loop's own, for std::lock_guard.
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
