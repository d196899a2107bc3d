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

bool Reassembly::insert(Seq seq, Payload payload, std::optional<SackBlock>& duplicate) {
  newest_ = seq;
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
    // Only what lies before the next piece is kept: should the new payload reach beyond that piece's end,
    // the rest comes again with a retransmission. One owner stays one piece.
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

Seq Reassembly::advance(Seq next) {
  std::size_t moved = 0;
  for (; moved < pieces_.size() && pieces_[moved].seq <= next; ++moved) {
    Piece& piece = pieces_[moved];
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
  // Room at the front is used before the vector grows; so often that each payload is moved about once.
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

std::size_t Reassembly::sack_blocks(std::span<SackBlock> out) const {
  std::size_t count = 0;
  const auto emit = [&](const SackBlock& block, bool first) {
    if (first && count > 0) {
      std::copy_backward(out.begin(),
                         out.begin() + static_cast<std::ptrdiff_t>(std::min(count, out.size() - 1)),
                         out.begin() + static_cast<std::ptrdiff_t>(std::min(count + 1, out.size())));
      out[0] = block;
      count = std::min(count + 1, out.size());
    } else if (count < out.size()) {
      out[count++] = block;
    }
  };
  for (std::size_t i = 0; i < pieces_.size();) {
    SackBlock block{pieces_[i].seq, pieces_[i].end()};
    for (++i; i < pieces_.size() && pieces_[i].seq == block.right; ++i) {
      block.right = pieces_[i].end();
    }
    emit(block, block.left <= newest_ && newest_ < block.right);
  }
  return count;
}

}  // namespace tfabric::stack
