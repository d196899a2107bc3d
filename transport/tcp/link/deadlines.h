// The deadlines of all flows, in a heap.
//
// A deadline that is moved to a later time, as a retransmission time-out is with every acknowledgement, costs
// only a store: its place in the heap is corrected when its old time comes. A deadline that is moved to an
// earlier time is moved in the heap at once. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace tfabric::link {

// Base of an object that has a deadline. Must be removed with remove() before it is destroyed.
class Timed {
 public:
  [[nodiscard]] Instant deadline() const { return deadline_; }

 private:
  friend class Deadlines;
  static constexpr std::uint32_t kNowhere = ~0u;

  Instant deadline_ = kNever;
  std::uint32_t place_ = kNowhere;  // in the heap
};

class Deadlines {
 public:
  void set(Timed& timed, Instant deadline);
  void remove(Timed& timed);
  // Removes and returns an object whose deadline has passed; null if there is none.
  Timed* take_due(Instant now);
  // Returns a time before which there is no deadline.
  [[nodiscard]] Instant next() const { return heap_.empty() ? kNever : heap_.front().at; }

 private:
  struct Entry {
    Instant at;  // not after the deadline
    Timed* timed;
  };

  void move_up(std::size_t place);
  void move_down(std::size_t place);
  void put(std::size_t place, const Entry& entry);

  std::vector<Entry> heap_;
};

}  // namespace tfabric::link
