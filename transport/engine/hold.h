// When what is held back goes out: acknowledgements, and reports of what was read.
//
// They are no message's business, and yet each costs as much as one: on the way of an answer that the user is
// about to give, a third of a round trip. So they wait for a turn without other work, for a bounded time.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace tfabric::engine {

class Hold {
 public:
  // Of our own TCP, so much is acknowledged at once, since a window may be small: more than the largest
  // message whose sender does not wait for it (stripe/copy_pool.h), with its header.
  static constexpr std::uint32_t kMostBytes = 17u << 10;

  // Something is held from now on.
  void begin(Instant now) { since_ = since_ == Instant{} ? now : since_; }
  [[nodiscard]] bool lasts() const { return since_ != Instant{}; }
  // Returns true if it is to go out in this turn. `quiet`: the turn has had no other work so far.
  [[nodiscard]] bool is_over(Instant now, bool quiet) const {
    return lasts() && now - since_ >= (quiet ? kLeast : kMost);
  }
  void end() { since_ = {}; }

 private:
  // Longer than a round trip, so that several small messages share an acknowledgement, and none goes out
  // while the answer to one is on its way.
  static constexpr Duration kLeast = std::chrono::microseconds(200);
  // Far less than a peer's time-outs allow for (stack::Options::max_ack_delay), also in an engine that always
  // has work.
  static constexpr Duration kMost = std::chrono::microseconds(500);

  Instant since_{};
};

}  // namespace tfabric::engine
