// How threads reach an engine: its lock, and the list in which they leave work for it without the lock.
#pragma once

#include <atomic>

#include "transport/engine/turn.h"

namespace tfabric::engine {

// Called by the thread that takes or releases an engine's lock, while it holds it: a library may keep a value
// for each thread, which has to be the engine's meanwhile. `on_lock` gets the engine's number, and returns
// what `on_unlock` gets.
struct LockHooks {
  unsigned (*on_lock)(unsigned engine);
  void (*on_unlock)(unsigned saved);
};

// The lock that makes an engine single-threaded.
//
// A thread that only wants progress takes it if it is free (try_lock). A thread that changes the engine from
// outside (opening and closing comms: rare) waits for it, and a polling thread lets waiting threads in
// between two turns. A thread may hold the locks of several engines, and releases them in the opposite order.
class EngineLock {
 public:
  // `number`: the engine's, among those of the process.
  explicit EngineLock(unsigned number = 0) : number_(number) {}
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

  bool try_lock() TF_TRY_ACQUIRE(true, turn) {
    if (held_.load(std::memory_order_relaxed) || held_.exchange(true, std::memory_order_acquire)) {
      return false;
    }
    if (hooks_ != nullptr) {
      saved_ = hooks_->on_lock(number_);
    }
    return true;
  }
  void lock() TF_ACQUIRE(turn);
  // Unchecked: nothing that clang knows of gives the turn up.
  void unlock() TF_RELEASE(turn) TF_NO_THREAD_SAFETY_ANALYSIS {
    if (hooks_ != nullptr) {
      hooks_->on_unlock(saved_);
    }
    held_.store(false, std::memory_order_release);
  }
  // With the lock held, from now on; if there are none yet. `hooks` outlive it.
  void set_hooks(const LockHooks& hooks) TF_REQUIRES(turn);
  // Returns true if a thread waits in lock(): a polling thread should yield.
  [[nodiscard]] bool contended() const { return waiting_.load(std::memory_order_relaxed) > 0; }

 private:
  std::atomic<bool> held_{false};
  std::atomic<int> waiting_{0};
  unsigned number_;
  const LockHooks* hooks_ = nullptr;  // null: none
  unsigned saved_ = 0;                // what on_lock has returned
};

// An object that leaves work for the engine without holding its lock.
class Submitter {
 public:
  // Called once for each call of submit() that found the object not queued.
  virtual void on_submitted() TF_IN_TURN = 0;

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
  // Calls on_submitted() of all objects in the list, in the order of their submissions. Returns true if there
  // were any.
  bool take() TF_IN_TURN { return head_.load(std::memory_order_relaxed) != nullptr && take_all(); }

 private:
  bool take_all() TF_IN_TURN;

  std::atomic<Submitter*> head_{nullptr};
};

// Holds an engine while it exists.
class TF_SCOPED_CAPABILITY Guard {
 public:
  explicit Guard(EngineLock& lock) TF_ACQUIRE(turn) : lock_(&lock) { lock.lock(); }
  ~Guard() TF_RELEASE() { lock_->unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  EngineLock* lock_;
};

}  // namespace tfabric::engine
