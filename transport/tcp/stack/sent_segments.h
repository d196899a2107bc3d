// The state of each segment between snd_una and snd_nxt: when it left, whether it has arrived, whether it is
// marked lost (the per-segment state of RFC 8985 §5.2).
//
// Segments are numbered in the order in which they are first sent, and lie in a ring in the order of the
// stream. Those that are assumed to be in the network are linked in the order in which they were last sent,
// so that loss detection looks only at segments that it has to decide about. Positions are offsets in the
// stream; sizes count our FIN as one byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace tfabric::stack {

struct SentSegment {
  std::uint64_t start = 0;
  Instant sent_at{};  // when it was last sent
  // The connection's state when it was sent; see delivery_rate.h.
  std::uint64_t delivered = 0;
  Instant delivered_at{}, first_sent_at{};
  std::uint32_t size = 0;
  std::uint32_t previous = 0, next = 0;  // numbers in the order of sending, while it is in the network
  bool retransmitted = false;
  bool sacked = false;
  bool lost = false;
  bool app_limited = false;

  [[nodiscard]] std::uint64_t end() const { return start + size; }
};

class SentSegments {
 public:
  using Number = std::uint32_t;  // wraps
  // With this many unacknowledged segments (of tiny writes), new data waits. A segment can still be split for
  // its retransmission.
  static constexpr std::size_t kMaxSegments = 65536;

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool full() const { return count_ >= kMaxSegments; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] Number first() const { return head_; }
  [[nodiscard]] Number end() const { return head_ + static_cast<Number>(count_); }
  [[nodiscard]] SentSegment& at(Number number) { return ring_[number & (ring_.size() - 1)]; }
  [[nodiscard]] const SentSegment& at(Number number) const { return ring_[number & (ring_.size() - 1)]; }
  // Returns the segment that contains `position`, which must be within the segments.
  [[nodiscard]] Number find(std::uint64_t position) const;

  // Bytes in the network (pipe of RFC 6675), lost, and reported by SACK; together they are all.
  [[nodiscard]] std::uint64_t in_network() const { return in_network_; }
  // The bytes of in_network() that were sent more than once.
  [[nodiscard]] std::uint64_t repeated_bytes() const { return repeated_bytes_; }
  [[nodiscard]] std::uint64_t lost_bytes() const { return lost_bytes_; }
  [[nodiscard]] std::uint64_t sacked_bytes() const { return sacked_bytes_; }
  [[nodiscard]] std::size_t sacked_segments() const { return sacked_segments_; }

  // The segments in the network that were sent the longest ago and last; only while in_network() > 0.
  [[nodiscard]] Number oldest() const { return oldest_; }
  [[nodiscard]] Number newest() const { return newest_; }

  // Frees the memory if there are no segments.
  void shrink() {
    if (count_ == 0) {
      decltype(ring_)().swap(ring_);
    }
  }
  // Adds new data of `size` bytes after the last segment, at `start`.
  SentSegment& add(std::uint64_t start, std::uint32_t size, Instant now);
  // The segment is retransmitted as it is.
  void resend(Number number, Instant now);
  // Splits a segment in two, the first of which has `size` bytes.
  void split(Number number, std::uint32_t size);
  // Returns the bytes of the lost segments that follow each other from `number`, the first lost one, on: as
  // many whole segments as have at most `most` bytes, but at least one; only one if joining them would cost
  // too much.
  [[nodiscard]] std::uint32_t lost_run(Number number, std::uint64_t most) const;
  // Joins the lost segments from `first`, the first lost one, to `last`, and returns the number of the
  // result. The numbers of the segments before it change.
  Number join(Number first, Number last);
  void mark_sacked(Number number);
  void mark_lost(Number number);
  // Marks everything that is not sacked as lost.
  void mark_all_lost();
  // Nothing is lost after all: the segments marked lost count as in the network since they were sent.
  void unmark_lost();
  // The peer may have discarded what it has reported (RFC 2018 §8): nothing counts as sacked.
  void forget_sacks();
  // Returns the first lost segment in the stream; only while lost_bytes() > 0.
  [[nodiscard]] Number first_lost();
  // The first segment is acknowledged, or only its first `bytes`.
  void remove_first();
  void trim_first(std::uint32_t bytes);

 private:
  void grow();
  void link_newest(Number number);
  void link_in_order(Number number);
  void unlink(Number number);
  void take_out(Number number);
  void renumber(Number from, Number to);
  void count_in(const SentSegment& segment) {
    in_network_ += segment.size;
    repeated_bytes_ += segment.retransmitted ? segment.size : 0;
  }
  [[nodiscard]] bool linked(const SentSegment& segment) const { return !segment.sacked && !segment.lost; }

  std::vector<SentSegment> ring_;  // a power of two
  Number head_ = 0;
  std::size_t count_ = 0;
  Number oldest_ = 0, newest_ = 0;  // valid while links_ > 0
  std::size_t links_ = 0;
  Number lost_from_ = 0;  // no segment before this one is lost
  std::uint64_t in_network_ = 0, repeated_bytes_ = 0, lost_bytes_ = 0, sacked_bytes_ = 0;
  std::size_t sacked_segments_ = 0;
};

}  // namespace tfabric::stack
