// Limits the answers to segments of no connection: a token bucket in which an answer costs one token on
// average.
//
// Its level must not be observable from outside. If each answer cost exactly one token, an attacker could
// spoof a segment between two other hosts, count the answers to his own probes, and see from a missing one
// that the spoofed segment was answered, and so whether the two hosts have a connection (as in
// CVE-2016-5696). Therefore an answer costs zero, one or two tokens, at random.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace tfabric::link {

class ReplyBudget {
 public:
  ReplyBudget(double per_second, double burst, std::uint64_t seed)
      : per_second_(per_second), burst_(burst), state_(seed) {}

  bool take(Instant now) {
    tokens_ =
        std::min(burst_, tokens_ + std::chrono::duration<double>(now - refilled_).count() * per_second_);
    refilled_ = now;
    if (tokens_ < 1) {
      return false;
    }
    tokens_ -= static_cast<double>(next_random() % 3);
    return true;
  }

 private:
  // Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014.
  std::uint64_t next_random() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  double per_second_, burst_;
  double tokens_ = 0;
  Instant refilled_{};
  std::uint64_t state_;
};

}  // namespace tfabric::link
