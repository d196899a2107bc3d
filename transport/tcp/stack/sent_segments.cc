#include "transport/tcp/stack/sent_segments.h"

#include <algorithm>
#include <cassert>

namespace tfabric::stack {
namespace {

// Joining moves the segments before the joined ones. With more than this, it costs more than the saved
// packets.
constexpr SentSegments::Number kMostRenumbered = 256;

}  // namespace

void SentSegments::grow() {
  std::vector<SentSegment> larger(ring_.empty() ? 4 : ring_.size() * 2);
  for (Number i = head_; i != end(); ++i) {
    larger[i & (larger.size() - 1)] = at(i);
  }
  ring_.swap(larger);
}

SentSegments::Number SentSegments::find(std::uint64_t position) const {
  Number low = 0, high = static_cast<Number>(count_);
  while (high - low > 1) {
    const Number middle = low + (high - low) / 2;
    (at(head_ + middle).start <= position ? low : high) = middle;
  }
  return head_ + low;
}

void SentSegments::link_newest(Number number) {
  SentSegment& segment = at(number);
  if (links_++ == 0) {
    oldest_ = number;
  } else {
    at(newest_).next = number;
    segment.previous = newest_;
  }
  newest_ = number;
  count_in(segment);
}

void SentSegments::link_in_order(Number number) {
  SentSegment& segment = at(number);
  const auto later = [&](const SentSegment& other) {
    return other.sent_at > segment.sent_at ||
           (other.sent_at == segment.sent_at && other.start > segment.start);
  };
  Number after = newest_;
  std::size_t newer = 0;
  for (; newer < links_ && later(at(after)); ++newer) {
    after = at(after).previous;
  }
  if (newer == 0) {
    link_newest(number);
    return;
  }
  if (newer == links_) {
    segment.next = oldest_;
    at(oldest_).previous = number;
    oldest_ = number;
  } else {
    segment.previous = after;
    segment.next = at(after).next;
    at(segment.next).previous = number;
    at(after).next = number;
  }
  ++links_;
  count_in(segment);
}

void SentSegments::unlink(Number number) {
  const SentSegment& segment = at(number);
  if (links_ > 1) {
    if (number == oldest_) {
      oldest_ = segment.next;
    } else if (number == newest_) {
      newest_ = segment.previous;
    } else {
      at(segment.previous).next = segment.next;
      at(segment.next).previous = segment.previous;
    }
  }
  --links_;
  in_network_ -= segment.size;
  repeated_bytes_ -= segment.retransmitted ? segment.size : 0;
}

// Takes a segment out of the list of those in the network, or out of the lost ones.
void SentSegments::take_out(Number number) {
  SentSegment& segment = at(number);
  if (segment.lost) {
    segment.lost = false;
    lost_bytes_ -= segment.size;
  } else {
    unlink(number);
  }
}

SentSegment& SentSegments::add(std::uint64_t start, std::uint32_t size, Instant now) {
  if (count_ == ring_.size()) {
    grow();
  }
  const Number number = end();
  ++count_;
  SentSegment& segment = at(number);
  segment = {};
  segment.start = start;
  segment.size = size;
  segment.sent_at = now;
  link_newest(number);
  return segment;
}

void SentSegments::resend(Number number, Instant now) {
  SentSegment& segment = at(number);
  assert(!segment.sacked);
  take_out(number);
  segment.retransmitted = true;
  segment.sent_at = now;
  link_newest(number);
}

void SentSegments::split(Number number, std::uint32_t size) {
  if (count_ == ring_.size()) {
    grow();
  }
  const Number behind = number + 1;
  const auto moved = [&](Number n) { return n - head_ >= behind - head_ && n - head_ < count_; };
  for (Number i = head_; i != end(); ++i) {
    SentSegment& segment = at(i);
    segment.previous += moved(segment.previous) ? 1 : 0;
    segment.next += moved(segment.next) ? 1 : 0;
  }
  oldest_ += moved(oldest_) ? 1 : 0;
  newest_ += moved(newest_) ? 1 : 0;
  if (moved(lost_from_)) {
    lost_from_ = number;
  }
  ++count_;
  for (Number i = end() - 1; i != behind; --i) {
    at(i) = at(i - 1);
  }
  SentSegment& front = at(number);
  SentSegment& back = at(behind);
  back = front;
  back.start += size;
  back.size -= size;
  front.size = size;
  if (front.sacked) {
    ++sacked_segments_;
  } else if (!front.lost) {
    // The two parts were sent together: they are neighbours in the list.
    if (number == newest_) {
      newest_ = behind;
    } else {
      at(back.next).previous = behind;
    }
    front.next = behind;
    back.previous = number;
    ++links_;
  }
}

std::uint32_t SentSegments::lost_run(Number number, std::uint64_t most) const {
  std::uint32_t bytes = at(number).size;
  if (number - head_ > kMostRenumbered) {
    return bytes;
  }
  for (Number i = number + 1; i != end() && at(i).lost && bytes + at(i).size <= most; ++i) {
    bytes += at(i).size;
  }
  return bytes;
}

void SentSegments::renumber(Number from, Number to) {
  SentSegment& segment = at(to);
  segment = at(from);
  if (!linked(segment)) {
    return;
  }
  (oldest_ == from ? oldest_ : at(segment.previous).next) = to;
  (newest_ == from ? newest_ : at(segment.next).previous) = to;
}

SentSegments::Number SentSegments::join(Number first, Number last) {
  SentSegment joined = at(first);
  for (Number i = first; i != last;) {
    ++i;
    assert(at(i).lost);
    joined.size += at(i).size;
    joined.retransmitted |= at(i).retransmitted;
  }
  // The segments before the joined ones close the gap. They are few if losses are repaired from the first one
  // on.
  const Number gap = last - first;
  for (Number i = first; i != head_;) {
    --i;
    renumber(i, i + gap);
  }
  at(last) = joined;
  head_ += gap;
  count_ -= gap;
  lost_from_ = last;
  return last;
}

void SentSegments::mark_sacked(Number number) {
  SentSegment& segment = at(number);
  if (segment.sacked) {
    return;
  }
  take_out(number);
  segment.sacked = true;
  sacked_bytes_ += segment.size;
  ++sacked_segments_;
}

void SentSegments::mark_lost(Number number) {
  SentSegment& segment = at(number);
  assert(linked(segment));
  unlink(number);
  segment.lost = true;
  if (lost_bytes_ == 0 || number - head_ < lost_from_ - head_) {
    lost_from_ = number;
  }
  lost_bytes_ += segment.size;
}

void SentSegments::mark_all_lost() {
  while (links_ > 0) {
    mark_lost(oldest_);
  }
}

void SentSegments::unmark_lost() {
  // The originals are in the order of their sending; the few that were retransmitted come after them.
  for (const bool retransmitted : {false, true}) {
    for (Number i = head_; lost_bytes_ > 0 && i != end(); ++i) {
      SentSegment& segment = at(i);
      if (segment.lost && segment.retransmitted == retransmitted) {
        segment.lost = false;
        lost_bytes_ -= segment.size;
        link_in_order(i);
      }
    }
  }
}

void SentSegments::forget_sacks() {
  for (Number i = head_; sacked_segments_ > 0 && i != end(); ++i) {
    SentSegment& segment = at(i);
    if (segment.sacked) {
      segment.sacked = false;
      sacked_bytes_ -= segment.size;
      --sacked_segments_;
      link_in_order(i);
    }
  }
}

SentSegments::Number SentSegments::first_lost() {
  while (!at(lost_from_).lost) {
    ++lost_from_;
  }
  return lost_from_;
}

void SentSegments::remove_first() {
  assert(count_ > 0);
  const SentSegment& segment = at(head_);
  if (segment.sacked) {
    sacked_bytes_ -= segment.size;
    --sacked_segments_;
  } else {
    take_out(head_);
  }
  lost_from_ += lost_from_ == head_ ? 1 : 0;
  ++head_;
  --count_;
}

void SentSegments::trim_first(std::uint32_t bytes) {
  SentSegment& segment = at(head_);
  (segment.sacked ? sacked_bytes_ : segment.lost ? lost_bytes_ : in_network_) -= bytes;
  repeated_bytes_ -= linked(segment) && segment.retransmitted ? bytes : 0;
  segment.start += bytes;
  segment.size -= bytes;
}

}  // namespace tfabric::stack
