// What threads without the engine want of it: a lock-free list of those who have left work.
#pragma once

#include <atomic>

namespace tfabric::engine {

// Somebody who leaves work for the engine without holding it.
class Submitter {
 public:
  // Called with the engine held, once for each time submit() found it not queued.
  virtual void on_submitted() = 0;

 protected:
  virtual ~Submitter() = default;

 private:
  friend class Submissions;
  std::atomic<bool> queued_{false};
  Submitter* next_ = nullptr;
};

class Submissions {
 public:
  // From any thread: `submitter` has left work, written before this call. on_submitted() runs in a take()
  // that begins after it, and sees that work.
  void submit(Submitter& submitter);
  // With the engine held: calls everybody in the list, in the order of their submissions.
  void take();

 private:
  std::atomic<Submitter*> head_{nullptr};
};

}  // namespace tfabric::engine
