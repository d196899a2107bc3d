#include "tests/simulation/cut.h"

#include <algorithm>

namespace tfabric::simulation {
namespace {

// Moves up to `size` bytes of payload from the pieces of `whole`, of which `at` of piece `piece` are gone.
void take(const stack::SegmentOut& whole, std::size_t& piece, std::uint32_t& at, std::uint32_t size,
          stack::SegmentOut& part) {
  while (size > 0) {
    const stack::Payload& from = whole.pieces[piece];
    const std::uint32_t n = std::min(size, from.size - at);
    part.pieces[part.piece_count++] = {from.data + at, n, from.owner};
    part.payload_size += n;
    size -= n;
    at += n;
    if (at == from.size) {
      ++piece;
      at = 0;
    }
  }
}

}  // namespace

std::vector<stack::SegmentOut> cut(const stack::SegmentOut& segment) {
  if (segment.segment_size == 0) {
    return {segment};
  }
  std::vector<stack::SegmentOut> parts;
  std::size_t piece = 0;
  std::uint32_t at = 0;
  for (std::uint32_t done = 0; done < segment.payload_size;) {
    stack::SegmentOut part = segment;
    part.seq = segment.seq + done;
    part.segment_size = 0;
    part.payload_size = 0;
    part.piece_count = 0;
    take(segment, piece, at, std::min<std::uint32_t>(segment.segment_size, segment.payload_size - done),
         part);
    done += part.payload_size;
    if (done < segment.payload_size) {
      part.flags &= static_cast<std::uint8_t>(~(stack::flag::fin | stack::flag::psh));
    }
    parts.push_back(part);
  }
  return parts;
}

}  // namespace tfabric::simulation
