// Whether a peer has gone that has closed the connection by which the two ends have met without a word, or
// that is not heard over it any more.
//
// The kernel closes it for a process that ends. But firewalls and proxies close connections, too, and the
// bootstrap network may be cut, while the queue pairs, whose network is another one, go on. These go with
// their process: a write that the peer's HCA acknowledges after that shows that the process is there. So each
// queue pair carries empty writes while this is in doubt. Used with the comm's turn.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace tfabric::rdma {

class Departure {
 public:
  // The kernel may close the connection of a process that ends earlier than its queue pairs.
  static constexpr Duration kGrace = std::chrono::milliseconds(500);
  // Nothing is acknowledged for so long: the peer has gone. Time in which nobody looked does not count.
  static constexpr Duration kPatience = std::chrono::seconds(2);
  // The interval at which to look while in doubt.
  static constexpr Duration kInterval = std::chrono::milliseconds(100);

  enum class State : std::uint8_t {
    none,   // the connection is there
    doubt,  // post empty writes, and look again
    stays,  // the peer is there without it, for good
    gone
  };
  // The connection is over. `completions`: how many there have been. Returns what is known now.
  State look(Instant now, std::uint64_t completions) {
    if (state_ == State::none) {
      state_ = State::doubt;
    } else if (state_ == State::doubt) {
      const bool late = time_ >= kGrace;  // what has completed has done so after the last look
      time_ += std::clamp<Duration>(now - looked_at_, Duration::zero(), 2 * kInterval);
      if (completions == completions_) {
        state_ = time_ - moved_ >= kPatience ? State::gone : State::doubt;
      } else {
        state_ = late ? State::stays : State::doubt;
        moved_ = time_;
      }
    }
    looked_at_ = now;
    completions_ = completions;
    return state_;
  }
  [[nodiscard]] State state() const { return state_; }

 private:
  State state_ = State::none;
  Duration time_{}, moved_{};  // since the connection was over, and when something completed last
  Instant looked_at_{};
  std::uint64_t completions_ = 0;
};

}  // namespace tfabric::rdma
