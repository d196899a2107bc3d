#include "transport/socket/write_queue.h"

#include <algorithm>
#include <cassert>

namespace tfabric::socket {

WriteQueue::Range& WriteQueue::add() {
  assert(count_ < kMostRanges);
  if (count_ == ring_.size()) {
    constexpr std::size_t kFirst = 8;
    std::vector<Range> larger(std::max(2 * ring_.size(), kFirst));
    for (std::size_t i = 0; i < count_; ++i) {
      larger[i] = at(i);
    }
    ring_.swap(larger);
    first_ = 0;
  }
  return ring_[(first_ + count_++) & (ring_.size() - 1)];
}

void WriteQueue::push(const std::byte* data, std::uint32_t size) {
  if (size > 0) {
    Range& range = add();
    range.data = data;
    range.size = size;
    bytes_ += size;
  }
}

void WriteQueue::push_copy(std::span<const std::byte> bytes) {
  if (!bytes.empty()) {
    Range& range = add();
    range.data = nullptr;
    range.size = static_cast<std::uint32_t>(bytes.size());
    bytes_ += bytes.size();
    std::copy(bytes.begin(), bytes.end(), range.copy.begin());
  }
}

WriteQueue::Batch WriteQueue::fill(std::span<iovec> out, std::size_t most) const {
  Batch batch;
  std::size_t skip = begun_;
  for (std::size_t i = 0; i < count_; ++i) {
    if (batch.ranges == out.size() || most == 0) {
      batch.all = false;
      break;
    }
    const Range& range = at(i);
    const std::byte* data = (range.data == nullptr ? range.copy.data() : range.data) + skip;
    const std::size_t size = std::min<std::size_t>(range.size - skip, most);
    batch.all = size == range.size - skip;
    out[batch.ranges++] = {.iov_base = const_cast<std::byte*>(data), .iov_len = size};
    most -= size;
    skip = 0;
  }
  return batch;
}

void WriteQueue::written(std::size_t bytes) {
  begun_ += bytes;
  bytes_ -= bytes;
  while (count_ > 0 && begun_ >= at(0).size) {
    begun_ -= at(0).size;
    first_ = (first_ + 1) & (ring_.size() - 1);
    --count_;
  }
}

void WriteQueue::clear() {
  first_ = count_ = begun_ = 0;
  bytes_ = 0;
}

}  // namespace tfabric::socket
