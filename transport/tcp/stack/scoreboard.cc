#include "transport/tcp/stack/scoreboard.h"

#include <algorithm>

namespace tfabric::stack {

bool Scoreboard::add(std::uint64_t left, std::uint64_t right) {
  // The first block that touches or follows the new one.
  auto first = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.right >= left; });
  if (first != blocks_.end() && first->left <= left && right <= first->right) {
    return false;
  }
  auto last = first;
  Block merged{left, right};
  while (last != blocks_.end() && last->left <= right) {
    merged.left = std::min(merged.left, last->left);
    merged.right = std::max(merged.right, last->right);
    ++last;
  }
  if (first == last) {
    if (blocks_.size() == kMaxBlocks) {
      return false;
    }
    blocks_.insert(first, merged);
  } else {
    *first = merged;
    blocks_.erase(first + 1, last);
  }
  return true;
}

void Scoreboard::release(std::uint64_t una) {
  const auto kept =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.right > una; });
  blocks_.erase(blocks_.begin(), kept);
  if (!blocks_.empty()) {
    blocks_.front().left = std::max(blocks_.front().left, una);
  }
}

std::uint64_t Scoreboard::bytes() const {
  std::uint64_t sum = 0;
  for (const Block& block : blocks_) {
    sum += block.right - block.left;
  }
  return sum;
}

Scoreboard::Block Scoreboard::hole_from(std::uint64_t position, std::uint64_t limit) const {
  for (const Block& block : blocks_) {
    if (position < block.left) {
      return {position, std::min(block.left, limit)};
    }
    position = std::max(position, block.right);
  }
  return {position, std::max(position, limit)};
}

std::uint64_t Scoreboard::lost_edge(std::uint64_t una, std::uint64_t threshold) const {
  constexpr std::size_t kDupThresh = 3;  // RFC 6675 §2
  std::uint64_t above = 0;
  std::size_t number = 0;
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    above += block->right - block->left;
    if (++number >= kDupThresh || above > threshold) {
      return block->left;
    }
  }
  return una;
}

std::uint64_t Scoreboard::missing(std::uint64_t from, std::uint64_t to) const {
  if (from >= to) {
    return 0;
  }
  std::uint64_t sum = to - from;
  for (const Block& block : blocks_) {
    const std::uint64_t left = std::max(block.left, from), right = std::min(block.right, to);
    if (left < right) {
      sum -= right - left;
    }
  }
  return sum;
}

}  // namespace tfabric::stack
