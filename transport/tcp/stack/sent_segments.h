// What is known of each segment between snd_una and snd_nxt: when it left, whether it has arrived, whether
// it counts as lost (the per-segment state of RFC 8985 §5.2).
//
// Segments are numbered as they are first sent, and lie in a ring in the order of the stream. Those that
// are thought to be in the network are linked in the order in which they were last sent, so that loss
// detection looks only at segments it has something to decide about. Positions are offsets in the stream;
// sizes count our FIN as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace tfabric::stack {

struct SentSegment {
  std::uint64_t start = 0;
  Instant sent_at{};  // the last time
  // Of the moment it was sent; see delivery_rate.h.
  std::uint64_t delivered = 0;
  Instant delivered_at{}, first_sent_at{};
  std::uint32_t size = 0;
  std::uint32_t previous = 0, next = 0;  // in the order of sending, while it is in the network
  bool retransmitted = false;
  bool sacked = false;
  bool lost = false;
  bool app_limited = false;

  [[nodiscard]] std::uint64_t end() const { return start + size; }
};

class SentSegments {
 public:
  using Number = std::uint32_t;  // wraps
  // New data waits while so many are unacknowledged: tiny writes, each a segment of its own. Cutting a
  // segment for its retransmission is still possible.
  static constexpr std::size_t kMaxSegments = 65536;

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool full() const { return count_ >= kMaxSegments; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] Number first() const { return head_; }
  [[nodiscard]] Number end() const { return head_ + static_cast<Number>(count_); }
  [[nodiscard]] SentSegment& at(Number number) { return ring_[number & (ring_.size() - 1)]; }
  [[nodiscard]] const SentSegment& at(Number number) const { return ring_[number & (ring_.size() - 1)]; }
  // The segment that holds `position`, which must be within them.
  [[nodiscard]] Number find(std::uint64_t position) const;

  // Bytes in the network (RFC 6675's pipe), lost, and reported by SACK; together all there are.
  [[nodiscard]] std::uint64_t in_network() const { return in_network_; }
  // Of those in the network, sent more than once.
  [[nodiscard]] std::uint64_t repeated_bytes() const { return repeated_bytes_; }
  [[nodiscard]] std::uint64_t lost_bytes() const { return lost_bytes_; }
  [[nodiscard]] std::uint64_t sacked_bytes() const { return sacked_bytes_; }
  [[nodiscard]] std::size_t sacked_segments() const { return sacked_segments_; }

  // The one in the network that was sent the longest ago; only while in_network() > 0.
  [[nodiscard]] Number oldest() const { return oldest_; }
  [[nodiscard]] Number newest() const { return newest_; }

  // Gives back the memory if there are none.
  void shrink() {
    if (count_ == 0) {
      decltype(ring_)().swap(ring_);
    }
  }
  // New data of `size` bytes behind the last segment, at `start`.
  SentSegment& add(std::uint64_t start, std::uint32_t size, Instant now);
  // A segment goes out again, as it is.
  void resend(Number number, Instant now);
  // Cuts a segment in two, of which the first has `size` bytes.
  void split(Number number, std::uint32_t size);
  // The bytes of the lost segments that follow each other from `number`, the first lost one, on: as many
  // whole segments as are no more than `most`, but one at least. One alone where joining them would cost too
  // much.
  [[nodiscard]] std::uint32_t lost_run(Number number, std::uint64_t most) const;
  // Makes one of the lost segments from `first`, the first lost one, to `last`, and returns its number. The
  // numbers of those before it change.
  Number join(Number first, Number last);
  void mark_sacked(Number number);
  void mark_lost(Number number);
  // Everything but what is sacked is lost.
  void mark_all_lost();
  // Nothing is lost after all: what was, is in the network since it was sent.
  void unmark_lost();
  // The peer may have taken its reports back (RFC 2018 §8): nothing is sacked.
  void forget_sacks();
  // The lost segment that is first in the stream; only while lost_bytes() > 0.
  [[nodiscard]] Number first_lost();
  // The first segment is acknowledged, or its first `bytes` are.
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
