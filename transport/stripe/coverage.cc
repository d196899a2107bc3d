#include "transport/stripe/coverage.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace tfabric::stripe {

Coverage::Claim Coverage::claim_out_of_order(std::uint32_t offset, std::uint32_t length,
                                             std::uint32_t total) {
  const std::uint32_t end = offset + length;
  const auto next = std::lower_bound(beyond_.begin(), beyond_.end(), offset,
                                     [](const Range& range, std::uint32_t at) { return range.begin < at; });
  const bool has_next = next != beyond_.end(), has_previous = next != beyond_.begin();
  if (offset < prefix_ || (has_next && next->begin < end) ||
      (has_previous && std::prev(next)->end > offset)) {
    return Claim::repeated;
  }
  const bool joins_next = has_next && next->begin == end;
  if (offset == prefix_) {
    prefix_ = joins_next ? next->end : end;
    if (joins_next) {
      beyond_.erase(next);
    }
    return Claim::granted;
  }
  const bool joins_previous = has_previous && std::prev(next)->end == offset;
  if (joins_previous) {
    std::prev(next)->end = joins_next ? next->end : end;
    if (joins_next) {
      beyond_.erase(next);
    }
  } else if (joins_next) {
    next->begin = offset;
  } else if (beyond_.size() > total / (2 * kLeastPiece) + kMaxBroken) {
    return Claim::scattered;
  } else {
    beyond_.insert(next, {offset, end});
  }
  return Claim::granted;
}

void Coverage::give_back(std::uint32_t offset, std::uint32_t length) {
  const std::uint32_t end = offset + length;
  if (offset < prefix_) {
    assert(end <= prefix_);
    if (end < prefix_) {
      beyond_.insert(beyond_.begin(), {end, prefix_});
    }
    prefix_ = offset;
    return;
  }
  const auto range = std::find_if(beyond_.begin(), beyond_.end(),
                                  [&](const Range& r) { return r.begin <= offset && end <= r.end; });
  assert(range != beyond_.end());
  const Range before{range->begin, offset}, after{end, range->end};
  if (before.begin == before.end && after.begin == after.end) {
    beyond_.erase(range);
  } else if (before.begin == before.end) {
    *range = after;
  } else {
    *range = before;
    if (after.begin != after.end) {
      beyond_.insert(std::next(range), after);
    }
  }
}

}  // namespace tfabric::stripe
