// Which of many flows has something due: a heap of deadlines.
//
// A deadline that moves to later, as a retransmission time-out does with every acknowledgement, costs a
// store: its place in the heap is put right when its old time comes. One that moves to earlier is moved in
// the heap at once. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace tfabric::engine {

// Part of whatever has a deadline; must be taken out with remove() before it goes.
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
  // Takes out one whose deadline has come; null if there is none.
  Timed* take_due(Instant now);
  // No deadline is before this.
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

}  // namespace tfabric::engine
