// What of the bytes in flight the peer has reported by SACK (RFC 2018).
//
// Positions are 64-bit stream offsets. Blocks are disjoint, ascending and above snd_una; their number is
// bounded, and a report that would exceed it is ignored (the peer repeats it).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace tfabric::stack {

class Scoreboard {
 public:
  struct Block {
    std::uint64_t left = 0;
    std::uint64_t right = 0;
  };
  static constexpr std::size_t kMaxBlocks = 256;

  // The peer holds [left, right). Calls visit(left, right, block) for each part of it that was not
  // reported before, with the block that it is now in; returns whether there was any.
  template <class Visit>
  bool add(std::uint64_t left, std::uint64_t right, Visit&& visit);
  // Everything before `una` is acknowledged.
  void release(std::uint64_t una);
  void clear() { blocks_.clear(); }

  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }

 private:
  std::vector<Block> blocks_;
};

template <class Visit>
bool Scoreboard::add(std::uint64_t left, std::uint64_t right, Visit&& visit) {
  // The blocks that touch the new one.
  const auto first =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.right >= left; });
  const auto last = std::find_if(first, blocks_.end(), [&](const Block& b) { return b.left > right; });
  if (first == last) {
    if (blocks_.size() == kMaxBlocks) {
      return false;
    }
    blocks_.insert(first, {left, right});
    visit(left, right, Block{left, right});
    return true;
  }
  const Block merged{std::min(first->left, left), std::max(std::prev(last)->right, right)};
  std::uint64_t at = left;
  bool news = false;
  for (auto block = first; at < right; ++block) {
    const std::uint64_t until = block == last ? right : std::min(block->left, right);
    if (at < until) {
      news = true;
      visit(at, until, merged);
    }
    if (block == last) {
      break;
    }
    at = std::max(at, block->right);
  }
  *first = merged;
  blocks_.erase(first + 1, last);
  return news;
}

}  // namespace tfabric::stack
