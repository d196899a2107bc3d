// Received payload that cannot be delivered yet: bytes in order that are not consumed, and bytes out of
// order.
//
// Each byte is kept once: of overlapping arrivals the first one stays. The number of out-of-order pieces is
// bounded. Payloads are retained and released through PayloadOps, each exactly once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/tcp/stack/connection.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {

class Reassembly {
 public:
  static constexpr std::size_t kMaxPieces = 4096;

  explicit Reassembly(const PayloadOps& ops) : ops_(ops) {}
  ~Reassembly();
  Reassembly(const Reassembly&) = delete;
  Reassembly& operator=(const Reassembly&) = delete;

  // Keeps a payload that starts at `seq`, beyond the next byte in order. Returns true if the payload now
  // belongs to this object. `duplicate`: the bytes at its beginning that were there already.
  bool insert(Seq seq, Payload payload, std::optional<SackBlock>& duplicate);
  // Moves the bytes that have become in order at `next` to the queue; returns the new next byte. `duplicate`:
  // the first run of bytes before `next` that were there already.
  Seq advance(Seq next, std::optional<SackBlock>& duplicate);

  // The queue of bytes in order.
  [[nodiscard]] bool queue_empty() const { return queue_.empty(); }
  [[nodiscard]] std::span<const std::byte> front() const {
    return {queue_[queue_head_].data, queue_[queue_head_].size};
  }
  // Appends a payload to the queue. Returns false, and keeps nothing, if there is no memory.
  bool append(Payload payload);
  void consume(std::uint32_t n);
  [[nodiscard]] std::uint64_t queued_bytes() const { return queued_bytes_; }

  // Frees the memory of empty lists.
  void shrink();

  [[nodiscard]] bool has_holes() const { return !pieces_.empty(); }
  // One past the last byte beyond the holes. Only if there are holes.
  [[nodiscard]] Seq last_end() const { return pieces_.back().end(); }
  // Writes SACK blocks, those with the most recent arrivals first (RFC 2018 §4); returns how many.
  std::size_t sack_blocks(std::span<SackBlock> out);

 private:
  struct Piece {
    Seq seq;
    Payload payload;
    [[nodiscard]] Seq end() const { return seq + payload.size; }
  };

  void release(Payload& payload);
  void note_arrival(Seq seq, Seq end);
  void enqueue(const Payload& payload);

  PayloadOps ops_;
  std::vector<Piece> pieces_;   // ascending, disjoint
  std::vector<Payload> queue_;  // in order from queue_head_ on; empty vector when it is empty
  std::size_t queue_head_ = 0;
  std::uint64_t queued_bytes_ = 0;
  // A byte of each of the blocks with the most recent arrivals, the newest first.
  std::array<Seq, kMaxSackBlocks> recent_;
  std::size_t recent_count_ = 0;
  Seq newest_end_;  // of the most recent arrival
};

}  // namespace tfabric::stack
