#include "transport/tcp/stack/send_queue.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tfabric::stack {

SendQueue::Range* SendQueue::allocate(std::uint32_t size) {
  if (count_ == kMaxRanges) {
    return nullptr;
  }
  if (count_ == ring_.size()) {
    std::vector<Range> larger(ring_.empty() ? 4 : ring_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) {
      larger[(head_ + i) & (larger.size() - 1)] = slot(head_ + i);
    }
    ring_.swap(larger);
  }
  Range& range = slot(head_ + count_++);
  range.start = end_;
  range.size = size;
  end_ += size;
  return &range;
}

bool SendQueue::push(const Payload& payload) {
  if (payload.size == 0) {
    return true;
  }
  Range* range = allocate(payload.size);
  if (range == nullptr) {
    return false;
  }
  range->data = payload.data;
  range->owner = payload.owner;
  return true;
}

bool SendQueue::push_inline(std::span<const std::byte> bytes) {
  assert(bytes.size() <= kInlineBytes);
  if (bytes.empty()) {
    return true;
  }
  Range* range = allocate(static_cast<std::uint32_t>(bytes.size()));
  if (range == nullptr) {
    return false;
  }
  range->data = nullptr;
  range->owner = nullptr;
  std::memcpy(range->copy.data(), bytes.data(), bytes.size());
  return true;
}

void SendQueue::release(std::uint64_t position) {
  while (count_ > 0 && slot(head_).start + slot(head_).size <= position) {
    ++head_;
    --count_;
  }
  cursor_ = std::max(cursor_, head_);
}

std::size_t SendQueue::locate(std::uint64_t position) {
  const auto holds = [&](std::size_t number) {
    const Range& range = slot(number);
    return range.start <= position && position < range.start + range.size;
  };
  for (std::size_t i = cursor_; i < std::min(cursor_ + 2, head_ + count_); ++i) {
    if (i >= head_ && holds(i)) {
      return i;
    }
  }
  std::size_t low = head_, high = head_ + count_;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (slot(middle).start <= position ? low : high) = middle;
  }
  return low;
}

std::uint32_t SendQueue::gather(std::uint64_t position, std::uint32_t size, SegmentOut& out) {
  if (size == 0 || count_ == 0) {
    return 0;
  }
  std::size_t number = locate(position);
  std::uint32_t gathered = 0;
  while (gathered < size && number != head_ + count_ && out.piece_count < kMaxPieces) {
    const Range& range = slot(number);
    const auto skip = static_cast<std::uint32_t>(position + gathered - range.start);
    const std::uint32_t n = std::min(range.size - skip, size - gathered);
    const std::byte* data = range.data == nullptr ? range.copy.data() : range.data;
    out.pieces[out.piece_count++] = {data + skip, n, range.owner};
    gathered += n;
    cursor_ = number++;
  }
  return gathered;
}

}  // namespace tfabric::stack
