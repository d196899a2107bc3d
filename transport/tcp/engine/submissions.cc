#include "transport/tcp/engine/submissions.h"

namespace tfabric::engine {

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

void Submissions::take() {
  if (head_.load(std::memory_order_relaxed) == nullptr) {
    return;
  }
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
    // An exchange, not a store: whoever still found the flag set and left relies on this call to see the
    // work, so the reads in on_submitted() must not begin before the flag is cleared for all to see.
    in_order->queued_.exchange(false, std::memory_order_acq_rel);
    in_order->on_submitted();
    in_order = next;
  }
}

}  // namespace tfabric::engine
