// How fast bytes arrive at the peer, measured at each acknowledgement (draft-ietf-ccwg-bbr, delivery rate
// samples; draft-cheng-iccrg-delivery-rate-estimation).
//
// A sample is the volume delivered between the sending of a segment and its acknowledgement, over the
// longer of the time that sending and that acknowledging it took. It is marked if the application had
// nothing to send meanwhile: such a sample is what it wanted, not what the path can do.
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
  std::uint64_t prior_delivered = 0;  // delivered() when the segment was sent: tells rounds apart
};

class DeliveryRate {
 public:
  // `segment` leaves; `idle`: nothing else is unacknowledged.
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
  // The sample of the acknowledgement that has been taken in.
  RateSample take(Duration min_rtt) {
    RateSample sample = sample_;
    sample.bytes = delivered_ - sample.prior_delivered;
    if (!has_sample_ || sample.interval < min_rtt) {
      sample.interval = Duration::zero();  // acknowledgements bunched together: faster than can be
    }
    if (app_limited_until_ != 0 && delivered_ > app_limited_until_) {
      app_limited_until_ = 0;
    }
    has_sample_ = false;
    sample_ = {};
    return sample;
  }
  // The application has nothing more to send, with `in_network` bytes underway.
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

}  // namespace tfabric::stack
