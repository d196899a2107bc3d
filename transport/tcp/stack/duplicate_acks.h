// The duplicate acknowledgements of a peer without SACK (RFC 5681 §3.2): each reports that one segment has
// left the network, but not which. The first segment in flight is the missing one; those after it are assumed
// to have arrived in the order of the stream.
//
// The bytes reported are those of the real segments, not of full ones: with tiny segments, a sender that took
// each acknowledgement for a full segment would keep far more in the network than its window allows. They are
// never more than were sent, however often the network duplicates an acknowledgement.
//
// Positions are 64-bit stream offsets. Private to one connection.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/tcp/stack/sent_segments.h"

namespace tfabric::stack {

class DuplicateAcks {
 public:
  // One more has arrived; `segments` are not empty. Returns the bytes that it reports, none of them before
  // `least`: while a time-out is repaired, it may answer a segment that was sent before it and is marked
  // lost, so that only segments sent first after the time-out can count as having left (RFC 5682 §2.1 step
  // 3a).
  std::uint64_t on_duplicate(const SentSegments& segments, std::uint64_t least = 0) {
    if (count_++ == 0) {
      from_ = until_ = std::max(segments.at(segments.first()).end(), least);
    }
    return report_next(segments);
  }
  // Of the bytes between `before` and `position`, which are acknowledged now, returns how many were reported
  // before.
  [[nodiscard]] std::uint64_t reported(std::uint64_t before, std::uint64_t position) const {
    const std::uint64_t from = std::max(from_, before), until = std::min(until_, position);
    return from < until ? until - from : 0;
  }
  // A partial acknowledgement (RFC 6582 §3.2) has filled the hole up to `snd_una`; `segments` are those that
  // remain. The first of them is missing as well: the segment that was reported is another one, further on.
  void on_partial_ack(const SentSegments& segments, std::uint64_t snd_una) {
    if (count_ == 0 || snd_una < from_) {
      return;  // the hole is filled only in part
    }
    const bool some_left = until_ > snd_una;
    from_ = segments.at(segments.first()).end();
    until_ = std::max(from_, until_);
    if (some_left) {
      report_next(segments);
    }
  }
  void reset() { *this = {}; }

  [[nodiscard]] std::uint32_t count() const { return count_; }
  // Bytes reported to have left the network.
  [[nodiscard]] std::uint64_t reported() const { return until_ - from_; }

 private:
  std::uint64_t report_next(const SentSegments& segments) {
    if (until_ >= segments.at(segments.end() - 1).end()) {
      return 0;
    }
    const std::uint64_t before = until_;
    until_ = segments.at(segments.find(until_)).end();
    return until_ - before;
  }

  std::uint32_t count_ = 0;
  std::uint64_t from_ = 0, until_ = 0;  // the bytes reported, in the order of the stream
};

}  // namespace tfabric::stack
