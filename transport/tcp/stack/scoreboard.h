// The bytes in flight that the peer has reported by SACK (RFC 2018).
//
// Positions are 64-bit stream offsets. Blocks are disjoint, ascending and above snd_una. Their number is
// bounded; a report that would exceed the bound is ignored, since the peer repeats it.
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

  // The peer reports [left, right). Calls visit(left, right, block) for each part of it that was not reported
  // before, with the block that the part is now in. Returns true if there was such a part.
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

inline void Scoreboard::release(std::uint64_t una) {
  const auto kept =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.right > una; });
  blocks_.erase(blocks_.begin(), kept);
  if (!blocks_.empty()) {
    blocks_.front().left = std::max(blocks_.front().left, una);
  }
}

}  // namespace tfabric::stack
