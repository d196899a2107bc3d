// The lock that makes an engine single-threaded.
//
// Whoever wants progress takes it only if it is free (try_lock); whoever must change the engine from
// outside (opening and closing comms: rare) waits for it, and a polling thread lets waiters in between
// two turns. While it is held, the thread has the engine's lcore id, so that DPDK's mempools use the one
// per-lcore cache that belongs to the engine: NCCL's threads are unknown to DPDK and would otherwise go
// to the shared ring for each packet buffer. A thread may hold several engines' locks, given back in the
// opposite order.
#pragma once

#include <atomic>
#include <mutex>

namespace tfabric::engine {

class EngineLock {
 public:
  // `number`: of the engine, among the process's.
  explicit EngineLock(unsigned number = 0) : number_(number) {}
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

  bool try_lock();
  void lock();
  void unlock();
  // Somebody waits in lock(): a polling thread should pause.
  [[nodiscard]] bool contended() const { return waiting_.load(std::memory_order_relaxed) > 0; }

 private:
  void enter();

  std::atomic<bool> held_{false};
  std::atomic<int> waiting_{0};
  unsigned number_;
  unsigned outer_lcore_ = 0;  // the holder's own lcore id
};

}  // namespace tfabric::engine

namespace tfabric::tcp {

using EngineGuard = std::lock_guard<engine::EngineLock>;

}  // namespace tfabric::tcp
