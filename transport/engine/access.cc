#include "transport/engine/access.h"

#include <sched.h>

namespace tfabric::engine {

void EngineLock::set_hooks(const LockHooks& hooks) {
  if (hooks_ == nullptr) {
    hooks_ = &hooks;
    saved_ = hooks.on_lock(number_);
  }
}

void EngineLock::lock() {
  if (try_lock()) {
    return;
  }
  waiting_.fetch_add(1, std::memory_order_relaxed);
  while (!try_lock()) {
    sched_yield();
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void Submissions::submit(Submitter& submitter) {
  if (submitter.queued_.exchange(true, std::memory_order_acq_rel)) {
    return;
  }
  Submitter* head = head_.load(std::memory_order_relaxed);
  do {
    submitter.next_ = head;
  } while (
      !head_.compare_exchange_weak(head, &submitter, std::memory_order_release, std::memory_order_relaxed));
}

bool Submissions::take_all() {
  Submitter* taken = head_.exchange(nullptr, std::memory_order_acquire);
  Submitter* in_order = nullptr;
  while (taken != nullptr) {
    Submitter* next = taken->next_;
    taken->next_ = in_order;
    in_order = taken;
    taken = next;
  }
  while (in_order != nullptr) {
    Submitter* next = in_order->next_;
    // An exchange, not a store: a thread that found the flag set relies on this call to see its work, so the
    // reads in on_submitted() must not begin before the cleared flag is visible.
    in_order->queued_.exchange(false, std::memory_order_acq_rel);
    in_order->on_submitted();
    in_order = next;
  }
  return true;
}

}  // namespace tfabric::engine
