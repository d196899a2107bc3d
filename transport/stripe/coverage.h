// The byte ranges of one message that its pieces have claimed; no byte can be claimed twice.
//
// Because the ranges are disjoint, a message is whole exactly when as many lines are there as it has: a piece
// that comes twice cannot stand in for one that is missing. A range is claimed when the piece's header is
// read, before its bytes are, so two lanes never write to the same bytes. If the lane then dies, what it has
// not brought is given back.
//
// Pieces that arrive in order, as they always do on a single lane, cost one comparison and no memory. With
// several lanes, the ranges beyond the first gap are kept sorted and merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tfabric::stripe {

class Coverage {
 public:
  enum class Claim : std::uint8_t {
    granted,
    repeated,  // a byte of the range was claimed before
    scattered  // more gaps than the pieces of a correct sender can leave
  };
  // No sender cuts pieces smaller than this, except the last one of a message: the least value of
  // tcp.chunk_bytes. This bounds the number of gaps, and so the memory that a faulty peer can make us use.
  static constexpr std::uint32_t kLeastPiece = 4096;
  // Further gaps: a lane that dies in the middle of a piece leaves one that may be smaller. As many as two
  // rails have lanes of one comm at most.
  static constexpr std::size_t kMaxBroken = 512;

  // Claims [offset, offset + length) of a message of `total` bytes, within which the range must lie.
  // `length` is not 0.
  Claim claim(std::uint32_t offset, std::uint32_t length, std::uint32_t total) {
    if (offset == prefix_ && beyond_.empty()) {
      prefix_ += length;
      return Claim::granted;
    }
    return claim_out_of_order(offset, length, total);
  }
  // Takes back a claim, or the end of one: [offset, offset + length), all of which must be claimed.
  void give_back(std::uint32_t offset, std::uint32_t length);
  // Begins a new message. Keeps the memory.
  void reset() {
    prefix_ = 0;
    beyond_.clear();
  }

 private:
  struct Range {
    std::uint32_t begin = 0, end = 0;
  };

  [[gnu::noinline]] Claim claim_out_of_order(std::uint32_t offset, std::uint32_t length, std::uint32_t total);

  std::uint32_t prefix_ = 0;   // all bytes before this one are claimed
  std::vector<Range> beyond_;  // claimed after the first gap: ascending, neither overlapping nor adjacent
};

}  // namespace tfabric::stripe
