#include "transport/tcp/stack/reassembly.h"

#include <algorithm>

namespace tfabric::stack {

Reassembly::~Reassembly() {
  for (Piece& piece : pieces_) {
    release(piece.payload);
  }
  for (std::size_t i = queue_head_; i < queue_.size(); ++i) {
    release(queue_[i]);
  }
}

void Reassembly::release(Payload& payload) { ops_.release(ops_.context, payload); }

void Reassembly::note_arrival(Seq seq, Seq end) {
  // A payload that continues the last arrival is in the same block.
  if (recent_count_ == 0 || seq != newest_end_) {
    std::copy_backward(recent_.begin(), recent_.end() - 1, recent_.end());
    recent_count_ = std::min(recent_count_ + 1, recent_.size());
  }
  recent_[0] = seq;
  newest_end_ = end;
}

bool Reassembly::insert(Seq seq, Payload payload, std::optional<SackBlock>& duplicate) {
  note_arrival(seq, seq + payload.size);
  auto after = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& p) { return p.seq > seq; });
  if (after != pieces_.begin()) {
    const Seq before = std::prev(after)->end();
    if (before > seq) {
      const auto overlap = static_cast<std::uint32_t>(before - seq);
      duplicate = SackBlock{seq, seq + std::min(overlap, payload.size)};
      if (overlap >= payload.size) {
        return false;
      }
      seq += overlap;
      payload.data += overlap;
      payload.size -= overlap;
    }
  }
  if (after != pieces_.end() && seq + payload.size > after->seq) {
    // Only the part before the next piece is kept. If the new payload reaches beyond that piece's end, the
    // rest comes again with a retransmission. So each owner has one piece.
    payload.size = static_cast<std::uint32_t>(after->seq - seq);
    if (payload.size == 0) {
      return false;
    }
  }
  if (pieces_.size() == kMaxPieces || !ops_.retain(ops_.context, payload)) {
    return false;
  }
  pieces_.insert(after, {seq, payload});
  return true;
}

Seq Reassembly::advance(Seq next, std::optional<SackBlock>& duplicate) {
  std::size_t moved = 0;
  for (; moved < pieces_.size() && pieces_[moved].seq <= next; ++moved) {
    Piece& piece = pieces_[moved];
    if (piece.seq < next) {
      if (!duplicate) {
        duplicate = SackBlock{piece.seq, piece.seq};
      }
      duplicate->right = duplicate->right == piece.seq ? min(piece.end(), next) : duplicate->right;
    }
    if (piece.end() <= next) {
      release(piece.payload);
      continue;
    }
    const auto old = static_cast<std::uint32_t>(next - piece.seq);
    piece.payload.data += old;
    piece.payload.size -= old;
    queued_bytes_ += piece.payload.size;
    next += piece.payload.size;
    enqueue(piece.payload);
  }
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(moved));
  return next;
}

bool Reassembly::append(Payload payload) {
  if (!ops_.retain(ops_.context, payload)) {
    return false;
  }
  queued_bytes_ += payload.size;
  enqueue(payload);
  return true;
}

void Reassembly::enqueue(const Payload& payload) {
  // The payloads are moved to the front before the vector grows: on average each is moved about once.
  if (queue_.size() == queue_.capacity() && queue_head_ > queue_.size() / 2) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(queue_head_));
    queue_head_ = 0;
  }
  queue_.push_back(payload);
}

void Reassembly::shrink() {
  if (queue_.empty()) {
    queue_.shrink_to_fit();
  }
  if (pieces_.empty()) {
    pieces_.shrink_to_fit();
  }
}

void Reassembly::consume(std::uint32_t n) {
  Payload& payload = queue_[queue_head_];
  payload.data += n;
  payload.size -= n;
  queued_bytes_ -= n;
  if (payload.size == 0) {
    release(payload);
    if (++queue_head_ == queue_.size()) {
      queue_.clear();
      queue_head_ = 0;
    }
  }
}

std::size_t Reassembly::sack_blocks(std::span<SackBlock> out) {
  std::array<std::optional<SackBlock>, kMaxSackBlocks> by_age;
  std::size_t others = 0;
  for (std::size_t i = 0; i < pieces_.size();) {
    SackBlock block{pieces_[i].seq, pieces_[i].end()};
    for (++i; i < pieces_.size() && pieces_[i].seq == block.right; ++i) {
      block.right = pieces_[i].end();
    }
    const auto end = recent_.begin() + static_cast<std::ptrdiff_t>(recent_count_);
    const auto found = std::find_if(recent_.begin(), end,
                                    [&block](Seq seq) { return block.left <= seq && seq < block.right; });
    if (found != end) {
      by_age[static_cast<std::size_t>(found - recent_.begin())] = block;
    } else if (others < out.size()) {
      out[others++] = block;
    }
  }
  // One arrival is remembered for each block.
  recent_count_ = 0;
  std::array<SackBlock, kMaxSackBlocks> recent;
  for (const auto& block : by_age) {
    if (block) {
      recent_[recent_count_] = block->left;
      recent[recent_count_++] = *block;
    }
  }
  const std::size_t first = std::min(recent_count_, out.size());
  others = std::min(others, out.size() - first);
  std::copy_backward(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(others),
                     out.begin() + static_cast<std::ptrdiff_t>(first + others));
  std::copy_n(recent.begin(), first, out.begin());
  return first + others;
}

}  // namespace tfabric::stack
