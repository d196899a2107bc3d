// How threads reach an engine: its lock, and the list in which they leave work for it without the lock.
#pragma once

#include <atomic>
#include <mutex>

namespace tfabric::engine {

// The lock that makes an engine single-threaded.
//
// A thread that only wants progress takes it if it is free (try_lock). A thread that changes the engine from
// outside (opening and closing comms: rare) waits for it, and a polling thread lets waiting threads in
// between two turns. The holder has the engine's lcore id, so that DPDK's mempools use the per-lcore cache
// that belongs to the engine: NCCL's threads are unknown to DPDK and would otherwise use the shared ring for
// each packet buffer. A thread may hold the locks of several engines, and releases them in the opposite
// order.
class EngineLock {
 public:
  // `number`: the engine's, among those of the process.
  explicit EngineLock(unsigned number = 0) : number_(number) {}
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

  bool try_lock();
  void lock();
  void unlock();
  // Returns true if a thread waits in lock(): a polling thread should yield.
  [[nodiscard]] bool contended() const { return waiting_.load(std::memory_order_relaxed) > 0; }

 private:
  void enter();

  std::atomic<bool> held_{false};
  std::atomic<int> waiting_{0};
  unsigned number_;
  unsigned outer_lcore_ = 0;  // the holder's own lcore id
};

// An object that leaves work for the engine without holding its lock.
class Submitter {
 public:
  // Called with the engine held, once for each call of submit() that found the object not queued.
  virtual void on_submitted() = 0;

 protected:
  virtual ~Submitter() = default;

 private:
  friend class Submissions;
  std::atomic<bool> queued_{false};
  Submitter* next_ = nullptr;
};

// The lock-free list of the objects that have left work.
class Submissions {
 public:
  // From any thread: `submitter` has work, written before this call. on_submitted() runs in a take() that
  // begins after it, and sees that work.
  void submit(Submitter& submitter);
  // With the engine held: calls on_submitted() of all objects in the list, in the order of their submissions.
  void take();

 private:
  std::atomic<Submitter*> head_{nullptr};
};

}  // namespace tfabric::engine

namespace tfabric::tcp {

using EngineGuard = std::lock_guard<engine::EngineLock>;

}  // namespace tfabric::tcp
