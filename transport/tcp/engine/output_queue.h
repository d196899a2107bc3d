// The flows of a link that have something to send, in the order in which they said so.
//
// First in, first out, so that flows share a link that takes less than they have. Holds no flow twice: who
// pushes remembers that. Not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

namespace tfabric::engine {

class Flow;

class OutputQueue {
 public:
  [[nodiscard]] std::size_t size() const { return flows_.size() - first_; }
  void push(Flow& flow) { flows_.push_back(&flow); }
  // The one that waits longest; there must be one.
  Flow& pop() {
    Flow& flow = *flows_[first_++];
    // What was taken is given up when it is half of all, so that each flow is moved once at most.
    if (2 * first_ >= flows_.size()) {
      flows_.erase(flows_.begin(), flows_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return flow;
  }
  void clear() {
    flows_.clear();
    first_ = 0;
  }

 private:
  std::vector<Flow*> flows_;
  std::size_t first_ = 0;
};

}  // namespace tfabric::engine
