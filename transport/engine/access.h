// How threads reach an engine: its lock, and the list in which they leave work for it without the lock.
#pragma once

#include <atomic>
#include <mutex>

namespace tfabric::engine {

// What a library below keeps for each thread, and the holder of an engine's lock must have. enter() is called
// by each new holder, with the engine's number, and returns what leave() puts back when it releases the lock.
struct HolderMark {
  unsigned (*enter)(unsigned engine);
  void (*leave)(unsigned outer);
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

  bool try_lock();
  void lock();
  void unlock();
  // Null: none. `mark` outlives the lock. Before another thread takes the lock, or with it held.
  void set_mark(const HolderMark* mark) { mark_ = mark; }
  // Returns true if a thread waits in lock(): a polling thread should yield.
  [[nodiscard]] bool contended() const { return waiting_.load(std::memory_order_relaxed) > 0; }

 private:
  std::atomic<bool> held_{false};
  std::atomic<int> waiting_{0};
  unsigned number_;
  const HolderMark* mark_ = nullptr;
  const HolderMark* entered_ = nullptr;  // the holder's
  unsigned outer_ = 0;                   // what that has returned
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

using Guard = std::lock_guard<EngineLock>;

}  // namespace tfabric::engine
