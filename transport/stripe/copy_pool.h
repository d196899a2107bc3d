// Copies of small messages, so that their senders have their memory back at once: a send is done when it is
// copied, and the copy is kept until the peer has confirmed it.
//
// One pool an engine, whatever the number of its comms. Where it has none left, a send is done when the peer
// has confirmed it, as a large one is. Memory is touched as more copies are in use at once, the copy that was
// given back last first. It is not registered: lanes that send by DMA copy once more. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "transport/stripe/message.h"

namespace tfabric::stripe {

class CopyPool {
 public:
  static constexpr std::uint32_t kMostBytes = kMaxEagerBytes;  // of one copy

  CopyPool();
  CopyPool(const CopyPool&) = delete;
  CopyPool& operator=(const CopyPool&) = delete;

  // Returns memory for a copy of so many bytes, at most kMostBytes; null: none is left.
  std::byte* take(std::uint32_t size);
  // `copy`: what take() has returned for this size.
  void give(std::byte* copy, std::uint32_t size);
  [[nodiscard]] std::size_t in_use() const { return in_use_; }

 private:
  // What NCCL sends most below 16 KiB are a few bytes, and many comms may do so at once.
  static constexpr std::uint32_t kSmallBytes = 256;
  static constexpr std::size_t kSmallSlots = 4096, kLargeSlots = 256;
  static constexpr std::size_t kMemoryBytes = kSmallSlots * kSmallBytes + kLargeSlots * kMostBytes;
  // NCCL's buffers begin at pages, and so do larger copies: docs/messages.md says at which distances some
  // CPUs copy slowly.
  static constexpr std::size_t kPage = 4096;
  static_assert(kMemoryBytes % kPage == 0 && kMostBytes % kPage == 0);

  // Slots of one size.
  struct Slots {
    std::byte* next = nullptr;  // the first that was never used
    std::byte* end = nullptr;
    std::uint32_t bytes = 0;  // of each
    std::vector<std::byte*> free;

    std::byte* take();
  };
  Slots& slots_for(std::uint32_t size) { return size <= kSmallBytes ? small_ : large_; }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> memory_;  // whole pages
  Slots small_, large_;
  std::size_t in_use_ = 0;
};

}  // namespace tfabric::stripe
