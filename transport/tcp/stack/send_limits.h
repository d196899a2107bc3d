// For how long a connection has had something to send, and for how long of that the peer's window or the
// network was what held it back (RFC 4898, tcpEStatsPerfSndLimTimeRwin and -Cwnd).
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tfabric::stack {

enum class SendLimit : std::uint8_t {
  nothing_to_send,
  peer_window,
  network,           // the congestion window, pacing, or what was lost
  acknowledgements,  // all has been sent; they are on their way
};

class SendLimits {
 public:
  // From `now` on it is `limit` that holds.
  void set(SendLimit limit, Instant now) {
    const Duration passed = now - since_;
    busy_ += limit_ == SendLimit::nothing_to_send ? Duration::zero() : passed;
    peer_window_ += limit_ == SendLimit::peer_window ? passed : Duration::zero();
    network_ += limit_ == SendLimit::network ? passed : Duration::zero();
    limit_ = limit;
    since_ = now;
  }
  // Up to the last set().
  [[nodiscard]] Duration busy() const { return busy_; }
  [[nodiscard]] Duration peer_window() const { return peer_window_; }
  [[nodiscard]] Duration network() const { return network_; }

 private:
  SendLimit limit_ = SendLimit::nothing_to_send;
  Instant since_{};
  Duration busy_{}, peer_window_{}, network_{};
};

}  // namespace tfabric::stack
