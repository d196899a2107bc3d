// How far acknowledgements come in heaps: a peer whose engine rests, or a link that collects packets, answers
// nothing for a while and then everything at once (draft-ietf-ccwg-bbr §5.5.9). A window of twice the
// bandwidth-delay product would run dry meanwhile; it needs room for what is acknowledged beyond the rate.
//
// Bytes and the owner's clock. Private to one connection.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace tfabric::stack {

class AckAggregation {
 public:
  // `bandwidth`: bytes a second that the path is thought to bear. `most`: no heap is larger.
  void on_ack(std::uint64_t delivered, std::uint64_t bandwidth, std::uint64_t most, Instant now) {
    std::uint64_t expected = expected_since_start(bandwidth, now);
    if (delivered_ <= expected) {
      // The acknowledgements have fallen behind the rate: what came before explains nothing any more.
      start_ = now;
      delivered_ = expected = 0;
    }
    delivered_ += delivered;
    if (delivered_ > expected) {
      excess_ = std::max(excess_, std::min(delivered_ - expected, most));
    }
  }
  // A round trip has ended. A heap is forgotten after ten.
  void on_round() {
    constexpr std::uint32_t kRounds = 5;
    if (++rounds_ == kRounds) {
      rounds_ = 0;
      previous_excess_ = excess_;
      excess_ = 0;
    }
  }
  // Bytes by which acknowledgements have been ahead of the rate, at most.
  [[nodiscard]] std::uint64_t excess() const { return std::max(excess_, previous_excess_); }

 private:
  [[nodiscard]] std::uint64_t expected_since_start(std::uint64_t bandwidth, Instant now) const {
    constexpr std::uint64_t kMicroseconds = 1'000'000;  // in a second
    // Longer than any heap takes, and the product must not overflow.
    const Duration since = std::min<Duration>(now - start_, std::chrono::seconds(1));
    return bandwidth * static_cast<std::uint64_t>(since / std::chrono::microseconds(1)) / kMicroseconds;
  }

  Instant start_{};
  std::uint64_t delivered_ = 0;  // since start_
  std::uint64_t excess_ = 0, previous_excess_ = 0;
  std::uint32_t rounds_ = 0;
};

}  // namespace tfabric::stack
