// Congestion control by a model of the path, in the manner of BBR (draft-ietf-ccwg-bbr): the rate at which
// bytes arrive, and the round-trip time without queues.
//
// It is made for clouds, which limit a flow to some Gbit/s and hardly queue. CUBIC fills a queue that is not
// there and pays with losses; this algorithm sends at the rate that arrives and probes for more now and then.
// Where a probe was answered by losses, the next ones come after ever longer times, and until then the rate
// stays at what arrived. It is always paced.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"
#include "transport/tcp/stack/congestion_control.h"

namespace tfabric::stack {

// By how much acknowledgements arrive in batches (draft-ietf-ccwg-bbr §5.5.9): a peer whose engine rests, or
// a link that collects packets, acknowledges nothing for a while and then everything at once. A window of
// twice the bandwidth-delay product would be used up meanwhile; it needs room for what is acknowledged beyond
// the rate.
class AckAggregation {
 public:
  // `bandwidth`: the path's estimated rate, bytes a second. `most`: an upper bound of the excess.
  void on_ack(std::uint64_t delivered, std::uint64_t bandwidth, std::uint64_t most, Instant now) {
    std::uint64_t expected = expected_since_start(bandwidth, now);
    if (delivered_ <= expected) {
      // The acknowledgements have fallen behind the rate: a new batch begins.
      start_ = now;
      delivered_ = expected = 0;
    }
    delivered_ += delivered;
    if (delivered_ > expected) {
      excess_ = std::max(excess_, std::min(delivered_ - expected, most));
    }
  }
  // A round trip has ended. A batch is forgotten after five to ten of them.
  void on_round() {
    constexpr std::uint32_t kRounds = 5;
    if (++rounds_ == kRounds) {
      rounds_ = 0;
      previous_excess_ = excess_;
      excess_ = 0;
    }
  }
  // The most bytes by which acknowledgements were ahead of the rate.
  [[nodiscard]] std::uint64_t excess() const { return std::max(excess_, previous_excess_); }

 private:
  [[nodiscard]] std::uint64_t expected_since_start(std::uint64_t bandwidth, Instant now) const {
    constexpr std::uint64_t kMicroseconds = 1'000'000;  // in a second
    // No batch takes longer, and the product must not overflow.
    const Duration since = std::min<Duration>(now - start_, std::chrono::seconds(1));
    return bandwidth * static_cast<std::uint64_t>(since / std::chrono::microseconds(1)) / kMicroseconds;
  }

  Instant start_{};
  std::uint64_t delivered_ = 0;  // since start_
  std::uint64_t excess_ = 0, previous_excess_ = 0;
  std::uint32_t rounds_ = 0;
};

class Bottleneck final : public CongestionControl {
 public:
  Bottleneck(std::uint32_t mss, std::uint64_t initial_window);

  void on_ack(const AckSample& sample) override;
  void on_loss(std::uint64_t flight) override;
  void on_rto(std::uint64_t flight, bool repeated) override;
  void on_ecn(std::uint64_t flight) override;
  void on_undo() override;
  void on_idle() override {}

  enum class Phase : std::uint8_t {
    startup,    // doubles the sending rate each round until the delivery rate no longer grows
    drain,      // empties the queue that startup has made
    cruise,     // sends at the delivery rate
    probe_up,   // sends a quarter more, for a round
    probe_down  // sends a quarter less, until the queue of the probe is empty
  };
  [[nodiscard]] Phase phase() const { return phase_; }
  // The path's estimated rate, bytes a second.
  [[nodiscard]] std::uint64_t bandwidth() const;

 private:
  void take_rate(const AckSample& sample);
  void end_round(const AckSample& sample);
  void next_phase(const AckSample& sample, bool round_ended);
  void start_cruise();
  void set_window(const AckSample& sample);
  void limit_rate();
  [[nodiscard]] std::uint64_t bdp(Duration min_rtt) const;

  Phase phase_ = Phase::startup;
  std::uint64_t initial_window_;
  // The largest rate of each of the last two cycles of probing, and the limit that losses have set since.
  std::uint64_t max_rate_ = 0, previous_max_rate_ = 0;
  std::uint64_t rate_limit_;
  std::uint64_t full_rate_ = 0;  // in startup: the rate that the next round has to exceed
  std::uint32_t rounds_without_growth_ = 0;
  std::uint64_t round_ends_ = 0;  // in bytes delivered
  std::uint64_t round_delivered_ = 0, round_lost_ = 0, round_rate_ = 0;
  bool lossy_ = false;                      // the last round lost more than random losses explain
  std::uint32_t rounds_ = 0, wait_rounds_;  // rounds in this phase; rounds of cruise before the next probe
  AckAggregation aggregation_;
  std::uint64_t saved_cwnd_ = 0;
};

}  // namespace tfabric::stack
