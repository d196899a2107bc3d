// What of the bytes in flight the peer has reported by SACK (RFC 2018), and which of them count as lost
// (RFC 6675).
//
// Positions are 64-bit stream offsets. Blocks are disjoint, ascending and above snd_una; their number is
// bounded, and a report that would exceed it is ignored (the peer repeats it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tfabric::stack {

class Scoreboard {
 public:
  struct Block {
    std::uint64_t left = 0;
    std::uint64_t right = 0;
  };
  static constexpr std::size_t kMaxBlocks = 256;

  // The peer holds [left, right). Returns whether that was news.
  bool add(std::uint64_t left, std::uint64_t right);
  // Everything before `una` is acknowledged.
  void release(std::uint64_t una);
  void clear() { blocks_.clear(); }

  [[nodiscard]] bool empty() const { return blocks_.empty(); }
  [[nodiscard]] std::uint64_t highest() const { return blocks_.empty() ? 0 : blocks_.back().right; }
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  // The first byte at or after `position` that is not reported, and where the hole it starts ends
  // (`limit` if nothing is reported above).
  [[nodiscard]] Block hole_from(std::uint64_t position, std::uint64_t limit) const;
  // Everything not reported before this position is lost: more than `threshold` bytes, or at least three
  // blocks, are reported above it (RFC 6675 §4, IsLost). `una` if nothing is.
  [[nodiscard]] std::uint64_t lost_edge(std::uint64_t una, std::uint64_t threshold) const;
  // Bytes not reported in [from, to).
  [[nodiscard]] std::uint64_t missing(std::uint64_t from, std::uint64_t to) const;

 private:
  std::vector<Block> blocks_;
};

}  // namespace tfabric::stack
