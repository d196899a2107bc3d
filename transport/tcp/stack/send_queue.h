// The bytes that a connection has to send, as ranges of the user's memory, from the oldest unacknowledged
// byte on.
//
// Positions are 64-bit offsets in the byte stream; 0 is the first byte ever queued. Ranges are cut into
// segments only when they are sent, so a retransmission may be cut differently. Small ranges (headers) are
// kept as copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {

class SendQueue {
 public:
  static constexpr std::uint32_t kInlineBytes = 64;
  // The most ranges. Only a connection with very many tiny messages in flight needs as many.
  static constexpr std::size_t kMaxRanges = 16384;

  bool push(const Payload& range);
  bool push_inline(std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t free_ranges() const { return kMaxRanges - count_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }

  // Frees the memory of an empty queue.
  void shrink() {
    if (count_ == 0) {
      decltype(ring_)().swap(ring_);
    }
  }
  // Forgets everything before `position`.
  void release(std::uint64_t position);
  // Adds the memory of [position, position + size) to `out`, as many parts as fit, and returns how many bytes
  // they are. The range must be queued.
  std::uint32_t gather(std::uint64_t position, std::uint32_t size, SegmentOut& out);

 private:
  struct Range {
    std::uint64_t start = 0;
    const std::byte* data = nullptr;  // null: the bytes are in `copy`
    void* owner = nullptr;
    std::uint32_t size = 0;
    std::array<std::byte, kInlineBytes> copy;
  };

  Range& slot(std::size_t number) { return ring_[number & (ring_.size() - 1)]; }
  Range* allocate(std::uint32_t size);
  std::size_t locate(std::uint64_t position);

  std::vector<Range> ring_;  // a power of two
  std::size_t head_ = 0;     // number of the oldest range
  std::size_t count_ = 0;
  std::size_t cursor_ = 0;  // number of the range where the last gather() ended
  std::uint64_t end_ = 0;
};

}  // namespace tfabric::stack
