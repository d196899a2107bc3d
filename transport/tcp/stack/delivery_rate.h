// How fast bytes arrive at the peer, and what limits a connection that has something to send.
//
// The rate is measured at each acknowledgement (draft-ietf-ccwg-bbr, delivery rate samples;
// draft-cheng-iccrg-delivery-rate-estimation). A sample is the volume delivered between the sending of a
// segment and its acknowledgement, divided by the longer of the times that the sending and the acknowledging
// of it took. A sample is marked if the application had nothing to send meanwhile: it then shows what the
// application wanted, not what the path can do.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "transport/tcp/stack/sent_segments.h"

namespace tfabric::stack {

struct RateSample {
  std::uint64_t bytes = 0;  // delivered in `interval`
  Duration interval{};      // zero: no sample
  bool app_limited = false;
  std::uint64_t prior_delivered = 0;  // delivered() when the segment was sent: distinguishes rounds
};

class DeliveryRate {
 public:
  // `segment` is sent; `idle`: nothing else is unacknowledged.
  void on_sent(SentSegment& segment, bool idle, Instant now) {
    if (idle) {
      first_sent_at_ = delivered_at_ = now;
    }
    segment.first_sent_at = first_sent_at_;
    segment.delivered_at = delivered_at_;
    segment.delivered = delivered_;
    segment.app_limited = app_limited_until_ != 0;
  }
  // `segment` is acknowledged or reported by SACK for the first time.
  void on_delivered(const SentSegment& segment, std::uint32_t bytes, Instant now) {
    delivered_ += bytes;
    delivered_at_ = now;
    if (!has_sample_ || segment.delivered >= sample_.prior_delivered) {
      has_sample_ = true;
      sample_.prior_delivered = segment.delivered;
      sample_.app_limited = segment.app_limited;
      sample_.interval = std::max(segment.sent_at - segment.first_sent_at, now - segment.delivered_at);
      first_sent_at_ = segment.sent_at;
    }
  }
  // Returns the sample of the acknowledgement whose segments on_delivered() was called for.
  RateSample take(Duration min_rtt) {
    RateSample sample = sample_;
    sample.bytes = delivered_ - sample.prior_delivered;
    if (!has_sample_ || sample.interval < min_rtt) {
      sample.interval = Duration::zero();  // acknowledgements were batched: no rate can be that high
    }
    if (app_limited_until_ != 0 && delivered_ > app_limited_until_) {
      app_limited_until_ = 0;
    }
    has_sample_ = false;
    sample_ = {};
    return sample;
  }
  // The application has nothing more to send, while `in_network` bytes are on their way.
  void set_app_limited(std::uint64_t in_network) {
    app_limited_until_ = std::max<std::uint64_t>(delivered_ + in_network, 1);
  }

  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }

 private:
  std::uint64_t delivered_ = 0;
  Instant delivered_at_{}, first_sent_at_{};
  std::uint64_t app_limited_until_ = 0;  // 0: not limited
  RateSample sample_;
  bool has_sample_ = false;
};

// For how long a connection had something to send, and for how long of that the peer's window or the network
// held it back (RFC 4898, tcpEStatsPerfSndLimTimeRwin and -Cwnd).

enum class SendLimit : std::uint8_t {
  nothing_to_send,
  peer_window,
  network,           // the congestion window, pacing, or losses
  acknowledgements,  // everything is sent; acknowledgements are on their way
  owner,             // the driver, or the time of this host
};

class SendLimits {
 public:
  // From `now` on, `limit` holds the connection back.
  void set(SendLimit limit, Instant now) {
    const Duration passed = now - since_;
    busy_ += limit_ == SendLimit::nothing_to_send ? Duration::zero() : passed;
    peer_window_ += limit_ == SendLimit::peer_window ? passed : Duration::zero();
    network_ += limit_ == SendLimit::network ? passed : Duration::zero();
    limit_ = limit;
    since_ = now;
  }
  // The times until the last set().
  [[nodiscard]] Duration busy() const { return busy_; }
  [[nodiscard]] Duration peer_window() const { return peer_window_; }
  [[nodiscard]] Duration network() const { return network_; }

 private:
  SendLimit limit_ = SendLimit::nothing_to_send;
  Instant since_{};
  Duration busy_{}, peer_window_{}, network_{};
};

}  // namespace tfabric::stack
