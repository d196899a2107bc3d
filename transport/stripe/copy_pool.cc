#include "transport/stripe/copy_pool.h"

#include <cassert>
#include <new>

namespace tfabric::stripe {

// Uninitialised: a process that sends little has little of it.
CopyPool::CopyPool() : memory_(static_cast<std::byte*>(std::aligned_alloc(kPage, kMemoryBytes))) {
  if (memory_ == nullptr) {
    throw std::bad_alloc();
  }
  std::byte* const large = memory_.get() + kSmallSlots * kSmallBytes;
  small_ = {.next = memory_.get(), .end = large, .bytes = kSmallBytes, .free = {}};
  large_ = {.next = large, .end = memory_.get() + kMemoryBytes, .bytes = kMostBytes, .free = {}};
}

std::byte* CopyPool::Slots::take() {
  if (!free.empty()) {
    std::byte* const last = free.back();
    free.pop_back();
    return last;
  }
  if (next == end) {
    return nullptr;
  }
  std::byte* const fresh = next;
  next += bytes;
  return fresh;
}

std::byte* CopyPool::take(std::uint32_t size) {
  assert(size <= kMostBytes);
  std::byte* const copy = slots_for(size).take();
  in_use_ += copy != nullptr ? 1 : 0;
  return copy;
}

void CopyPool::give(std::byte* copy, std::uint32_t size) {
  assert(in_use_ > 0);
  slots_for(size).free.push_back(copy);
  --in_use_;
}

}  // namespace tfabric::stripe
