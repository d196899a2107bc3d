#include "transport/tcp/engine/deadline_queue.h"

namespace tfabric::engine {

void DeadlineQueue::put(std::size_t position, Node* node) {
  heap_[position] = node;
  node->position_ = position;
}

void DeadlineQueue::sift_up(std::size_t position) {
  Node* const node = heap_[position];
  while (position > 0) {
    const std::size_t parent = (position - 1) / 2;
    if (heap_[parent]->queued_at_ <= node->queued_at_) {
      break;
    }
    put(position, heap_[parent]);
    position = parent;
  }
  put(position, node);
}

void DeadlineQueue::sift_down(std::size_t position) {
  Node* const node = heap_[position];
  for (;;) {
    std::size_t child = 2 * position + 1;
    if (child + 1 < heap_.size() && heap_[child + 1]->queued_at_ < heap_[child]->queued_at_) {
      ++child;
    }
    if (child >= heap_.size() || node->queued_at_ <= heap_[child]->queued_at_) {
      break;
    }
    put(position, heap_[child]);
    position = child;
  }
  put(position, node);
}

void DeadlineQueue::move_up(Node& node, Instant when) {
  if (node.position_ == Node::kOut) {
    heap_.push_back(&node);
    node.position_ = heap_.size() - 1;
  }
  node.queued_at_ = when;
  sift_up(node.position_);
}

void DeadlineQueue::remove(Node& node) {
  node.deadline_ = kNever;
  if (node.position_ != Node::kOut) {
    take_out(node);
  }
}

void DeadlineQueue::take_out(Node& node) {
  const std::size_t position = node.position_;
  Node* const last = heap_.back();
  heap_.pop_back();
  node.position_ = Node::kOut;
  node.queued_at_ = kNever;
  if (last != &node) {
    put(position, last);
    sift_up(position);
    sift_down(last->position_);
  }
}

DeadlineQueue::Node* DeadlineQueue::take(Instant now) {
  while (next() <= now) {
    Node& node = *heap_.front();
    if (node.deadline_ <= now || node.deadline_ == kNever) {
      take_out(node);
      if (node.deadline_ <= now) {
        return &node;
      }
    } else {
      node.queued_at_ = node.deadline_;
      sift_down(0);
    }
  }
  return nullptr;
}

}  // namespace tfabric::engine
