// A model of the path instead of a reaction to losses, in the manner of BBR (draft-ietf-ccwg-bbr): the rate
// at which bytes arrive, and the round-trip time without queues. Made for clouds, which police a flow to
// some Gbit/s with hardly a queue: CUBIC fills what is not there and pays by losses, this one sends at the
// rate that arrives, and asks for more now and then.
//
// Where asking was answered by losses, it asks again after ever longer times, and meanwhile keeps to what
// got through. Always paced.
#pragma once

#include <cstdint>

#include "transport/tcp/stack/ack_aggregation.h"
#include "transport/tcp/stack/congestion_control.h"

namespace tfabric::stack {

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
    startup,    // doubles the rate each round until it no longer grows
    drain,      // of the queue that this has made
    cruise,     // at the rate that arrives
    probe_up,   // a quarter more, for a round
    probe_down  // a quarter less, until what that has queued is gone
  };
  [[nodiscard]] Phase phase() const { return phase_; }
  // Bytes a second: what the path is thought to bear.
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
  // The largest rate of the last two cycles of probing, and the limit that losses have set since.
  std::uint64_t max_rate_ = 0, previous_max_rate_ = 0;
  std::uint64_t rate_limit_;
  std::uint64_t full_rate_ = 0;  // startup: the rate that has to be exceeded
  std::uint32_t rounds_without_growth_ = 0;
  std::uint64_t round_ends_ = 0;  // in bytes delivered
  std::uint64_t round_delivered_ = 0, round_lost_ = 0, round_rate_ = 0;
  bool lossy_ = false;                      // the last round lost more than a random loss
  std::uint32_t rounds_ = 0, wait_rounds_;  // in this phase; in cruise, before the next probe
  AckAggregation aggregation_;
  std::uint64_t saved_cwnd_ = 0;
};

}  // namespace tfabric::stack
