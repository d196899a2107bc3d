// Which of many flows has something to do next, by time.
//
// A flow's deadline moves with nearly every segment, and mostly to later. So the queue, a binary heap, is
// touched only when a deadline comes earlier; one that has moved to later is found out when its old time
// comes. Not thread-safe; nodes belong to their owner, who removes them before they go.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "base/time.h"

namespace tfabric::engine {

class DeadlineQueue {
 public:
  // What has a deadline derives from this.
  class Node {
   public:
    [[nodiscard]] Instant deadline() const { return deadline_; }

   private:
    friend class DeadlineQueue;
    static constexpr std::size_t kOut = std::numeric_limits<std::size_t>::max();

    Instant deadline_ = kNever;
    Instant queued_at_ = kNever;   // never later than deadline_, while it is in the heap
    std::size_t position_ = kOut;  // in the heap
  };

  // No deadline is before this. It may be early.
  [[nodiscard]] Instant next() const { return heap_.empty() ? kNever : heap_.front()->queued_at_; }
  // kNever: none.
  void set(Node& node, Instant deadline) {
    node.deadline_ = deadline;
    if (deadline < node.queued_at_) {
      move_up(node, deadline);
    }
  }
  // Takes out one whose deadline has come; null: there is none.
  Node* take(Instant now);
  void remove(Node& node);

 private:
  void take_out(Node& node);
  void move_up(Node& node, Instant when);
  void sift_up(std::size_t position);
  void sift_down(std::size_t position);
  void put(std::size_t position, Node* node);

  std::vector<Node*> heap_;
};

}  // namespace tfabric::engine
