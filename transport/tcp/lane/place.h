// Where the bytes of an arriving message go: the copy to their final place, and the record of which have
// come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tfabric::lane {

// Copies received bytes to their final place in an order in which a GPU may look at them.
//
// NCCL's LL and LL128 protocols poll the receive buffer before the receive is reported as done: within each
// aligned 8-byte word the flag must not become visible before the data, and within each aligned 128-byte line
// the last 8 bytes must become visible last. The copy therefore stores strictly ascending, naturally aligned
// words of at most one cache line. memcpy (which may store the tail or the head of a range first) and
// `rep movsb` (whose stores are not ordered) are both unsafe here.
void place(std::byte* destination, const std::byte* source, std::size_t size);

// The byte ranges of one message that its pieces have claimed; no byte can be claimed twice.
//
// Because the ranges are disjoint, a message is whole exactly when as many bytes are placed as it has: a
// piece that comes twice cannot stand in for one that is missing. A range is claimed when the piece's header
// is read, before its bytes are, so two flows never write to the same bytes.
//
// Pieces that arrive in order, as they always do on a single flow, cost one comparison and no memory. With
// several flows, the ranges beyond the first gap are kept sorted and merged.
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

  // Claims [offset, offset + length) of a message of `total` bytes, within which the range must lie.
  // `length` is not 0.
  Claim claim(std::uint32_t offset, std::uint32_t length, std::uint32_t total) {
    if (offset == prefix_ && beyond_.empty()) {
      prefix_ += length;
      return Claim::granted;
    }
    return claim_out_of_order(offset, length, total);
  }
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

}  // namespace tfabric::lane
