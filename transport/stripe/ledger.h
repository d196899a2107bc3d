// The pieces of one lane that are not confirmed: what has to be dealt again if the lane dies.
//
// A ring, which grows as needed up to kMaxEntries and then keeps its memory.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/stripe/lane.h"

namespace tfabric::stripe {

class Ledger {
 public:
  static constexpr std::size_t kMaxEntries = 1024;  // a power of two

  struct Entry {
    Span span;                  // the lane's positions
    std::uint32_t message = 0;  // its number
    std::uint32_t offset = 0;   // of the piece, in the message
    std::uint32_t length = 0;
  };
  // A line range that is not there.
  struct Gap {
    std::uint32_t message = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };

  [[nodiscard]] bool full() const { return size_ == kMaxEntries; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // All pieces that end at or before this position are confirmed.
  [[nodiscard]] std::uint64_t confirmed() const { return confirmed_; }
  // The end of the last piece that was given.
  [[nodiscard]] std::uint64_t given() const { return given_; }

  void add(const Entry& entry) {
    assert(!full());
    if (size_ == capacity_) {
      grow();
    }
    ring_[(head_ + size_++) & (capacity_ - 1)] = entry;
    given_ = entry.span.end;
  }

  // Everything before `position` is there. Returns true if that is more of the pieces than before.
  bool reach(std::uint64_t position) {
    const bool more = size_ > 0 && position > std::max(reached_, front().span.begin);
    reached_ = std::max(reached_, position);
    return more;
  }

  // Everything before `position` is there: takes the entries that end there or before out, and calls
  // `done(entry)` for each.
  template <class Done>
  void confirm(std::uint64_t position, const Done& done) {
    while (size_ > 0 && front().span.end <= position) {
      const Entry& entry = front();
      confirmed_ = entry.span.end;
      done(entry);
      pop();
    }
  }

  // The lane is closed at both ends, and `position` is all that has ever come of it. Takes all entries out,
  // and calls `done(message, lines)` for what is there and `gap(Gap)` for what is not, in the lane's order.
  // Returns false, having called neither, if the position cannot be right: pieces that were confirmed lie
  // beyond it, or it lies within a line.
  template <class Done, class Missing>
  bool settle(std::uint64_t position, const Done& done, const Missing& gap) {
    if (position < confirmed_ || !ends_at_line(position)) {
      return false;
    }
    for (; size_ > 0; pop()) {
      const Entry& entry = front();
      const std::uint32_t whole = whole_bytes(entry, position);
      if (entry.span.end <= position) {
        done(entry.message, lines_of(entry.length));
        continue;
      }
      if (whole > 0) {
        done(entry.message, whole / kLineBytes);
      }
      gap(Gap{entry.message, entry.offset + whole, entry.length - whole});
    }
    return true;
  }

  // The lane's number goes to another lane. Keeps the memory.
  void reset() {
    head_ = size_ = 0;
    confirmed_ = given_ = reached_ = 0;
  }

 private:
  static constexpr std::size_t kFirstEntries = 16;

  [[nodiscard]] const Entry& front() const { return ring_[head_]; }
  void pop() {
    head_ = (head_ + 1) & (capacity_ - 1);
    --size_;
  }
  void grow() {
    std::vector<Entry> larger(ring_.empty() ? kFirstEntries : 2 * capacity_);
    for (std::size_t i = 0; i < size_; ++i) {
      larger[i] = ring_[(head_ + i) & (capacity_ - 1)];
    }
    ring_ = std::move(larger);
    capacity_ = ring_.size();
    head_ = 0;
  }
  // How many bytes of the piece lie before the position.
  static std::uint32_t whole_bytes(const Entry& entry, std::uint64_t position) {
    if (entry.span.whole || position <= entry.span.begin || position >= entry.span.end) {
      return 0;
    }
    return static_cast<std::uint32_t>(position - entry.span.begin);
  }
  [[nodiscard]] bool ends_at_line(std::uint64_t position) const {
    for (std::size_t i = 0; i < size_; ++i) {
      if (whole_bytes(ring_[(head_ + i) & (capacity_ - 1)], position) % kLineBytes != 0) {
        return false;
      }
    }
    return true;
  }

  std::vector<Entry> ring_;
  std::size_t capacity_ = 0;  // its size, a power of two
  std::size_t head_ = 0, size_ = 0;
  std::uint64_t confirmed_ = 0, given_ = 0, reached_ = 0;
};

}  // namespace tfabric::stripe
