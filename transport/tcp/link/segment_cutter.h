// Segmentation in software, for links whose drivers do not cut super-segments (TSO). The machine's work for a
// super-segment is nearly that for one segment; only headers and records are needed for each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "transport/tcp/stack/segment.h"

namespace tfabric::link {

// The most segments of a super-segment that is cut here: the packets of a flow's turn.
inline constexpr std::uint32_t kMostCut = 32;

// Cuts a super-segment as a driver does: the segments have its header except for the sequence number and
// flags_of_part().
class SegmentCutter {
 public:
  // `whole` must live as long as the cutter.
  explicit SegmentCutter(const stack::SegmentOut& whole)
      : whole_(&whole), part_(header_of(whole)), left_(whole.payload_size) {}

  // Returns the next segment, valid until the next call; null after the last.
  [[nodiscard]] const stack::SegmentOut* next() {
    if (left_ == 0) {
      return nullptr;
    }
    part_.seq += part_.payload_size;
    const bool first = left_ == whole_->payload_size;
    const std::uint32_t size = std::min<std::uint32_t>(left_, whole_->segment_size);
    left_ -= size;
    part_.flags = stack::flags_of_part(whole_->flags, first, /*last=*/left_ == 0);
    take(size);
    return &part_;
  }

 private:
  static stack::SegmentOut header_of(const stack::SegmentOut& whole) {
    stack::SegmentOut part = whole;
    part.segment_size = 0;
    part.payload_size = 0;
    return part;
  }
  void take(std::uint32_t size) {
    part_.payload_size = size;
    part_.piece_count = 0;
    while (size > 0) {
      const stack::Payload& piece = whole_->pieces[piece_];
      const std::uint32_t n = std::min(size, piece.size - taken_);
      part_.pieces[part_.piece_count++] = {piece.data + taken_, n, piece.owner};
      taken_ += n;
      size -= n;
      if (taken_ == piece.size) {
        ++piece_;
        taken_ = 0;
      }
    }
  }

  const stack::SegmentOut* whole_;
  stack::SegmentOut part_;
  std::uint32_t left_;
  std::size_t piece_ = 0;    // the first that is not used up
  std::uint32_t taken_ = 0;  // of it
};

}  // namespace tfabric::link
