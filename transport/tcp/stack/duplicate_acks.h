// What a peer without SACK tells by duplicate acknowledgements (RFC 5681 §3.2): each says that one segment
// has left the network, but not which. The first segment in flight is the one that is missing; those behind
// it are supposed to have arrived in the order of the stream.
//
// The bytes told of are those of real segments, not full ones each: where segments are tiny, a sender that
// took each acknowledgement for a full segment would keep far more in the network than its window allows.
// Nor are there ever more of them than were sent, however often the network duplicates an acknowledgement.
//
// Positions are 64-bit stream offsets. Private to one connection.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/tcp/stack/sent_segments.h"

namespace tfabric::stack {

class DuplicateAcks {
 public:
  // One more has come; `segments` are not empty. Returns the bytes that it tells of, none of them before
  // `least`: while a time-out is repaired it may answer what was sent before and counts as lost, so that at
  // most what was sent first after it can be said to have left (RFC 5682 §2.1 step 3a).
  std::uint64_t on_duplicate(const SentSegments& segments, std::uint64_t least = 0) {
    if (count_++ == 0) {
      from_ = until_ = std::max(segments.at(segments.first()).end(), least);
    }
    return tell_of_next(segments);
  }
  // Of the bytes between `before` and `position`, which are acknowledged now, those told of already.
  [[nodiscard]] std::uint64_t told(std::uint64_t before, std::uint64_t position) const {
    const std::uint64_t from = std::max(from_, before), until = std::min(until_, position);
    return from < until ? until - from : 0;
  }
  // A partial acknowledgement (RFC 6582 §3.2) has filled the hole up to `snd_una`; `segments` are what is
  // left. The segment behind it is missing as well: it was another one, further on, that has arrived.
  void on_partial_ack(const SentSegments& segments, std::uint64_t snd_una) {
    if (count_ == 0 || snd_una < from_) {
      return;  // the hole is filled in pieces
    }
    const bool some_left = until_ > snd_una;
    from_ = segments.at(segments.first()).end();
    until_ = std::max(from_, until_);
    if (some_left) {
      tell_of_next(segments);
    }
  }
  void reset() { *this = {}; }

  [[nodiscard]] std::uint32_t count() const { return count_; }
  // Bytes that have left the network, by what has been told.
  [[nodiscard]] std::uint64_t told() const { return until_ - from_; }

 private:
  std::uint64_t tell_of_next(const SentSegments& segments) {
    if (until_ >= segments.at(segments.end() - 1).end()) {
      return 0;
    }
    const std::uint64_t before = until_;
    until_ = segments.at(segments.find(until_)).end();
    return until_ - before;
  }

  std::uint32_t count_ = 0;
  std::uint64_t from_ = 0, until_ = 0;  // in the order of the stream, what has been told of
};

}  // namespace tfabric::stack
