// What decides how many bytes may be in flight, and how fast they may leave.
//
// One object a connection, behind a few verbs. The connection finds losses (rack.h) and paces their repair
// (prr.h); a controller only hears of them. cwnd() and pacing_rate() are plain reads, for the path of a
// segment; the verbs are called once an acknowledgement at most. Windows in bytes, rates in bytes a second.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "base/time.h"
#include "transport/tcp/stack/congestion_algorithm.h"
#include "transport/tcp/stack/delivery_rate.h"

namespace tfabric::stack {

// What one acknowledgement says. Positions are offsets in the stream.
struct AckSample {
  Instant now{};
  std::uint64_t acked = 0;            // bytes by which snd_una has moved
  std::uint64_t delivered = 0;        // bytes that are known for the first time to have arrived
  std::uint64_t growth = 0;           // of these, the ones for which the window may grow
  std::uint64_t lost = 0;             // bytes that are now thought to be lost
  std::uint64_t delivered_total = 0;  // since the connection began
  std::uint64_t in_flight = 0;        // after this acknowledgement
  std::uint64_t snd_una = 0, snd_nxt = 0;
  std::uint64_t marked = 0;  // of `acked`, bytes that the peer has seen marked (ECN)
  Duration rtt{};            // of the newest segment that has arrived; zero: no sample
  Duration srtt{};           // smoothed; zero: not known yet
  Duration min_rtt{};        // of the last seconds; zero: not known yet
  RateSample rate{};
  // The window has been in use, so that what it allows is known to be good (RFC 7661 §4.3). While it is
  // not, the window must not grow.
  bool validated = true;
  bool in_recovery = false;  // of a loss or a mark: the window is not to grow
};

class CongestionControl {
 public:
  virtual ~CongestionControl() = default;
  CongestionControl(const CongestionControl&) = delete;
  CongestionControl& operator=(const CongestionControl&) = delete;

  [[nodiscard]] std::uint64_t cwnd() const { return cwnd_; }
  [[nodiscard]] std::uint64_t ssthresh() const { return ssthresh_; }
  [[nodiscard]] bool in_slow_start() const { return cwnd_ < ssthresh_; }
  // Zero: as fast as it goes.
  [[nodiscard]] std::uint64_t pacing_rate() const { return pacing_rate_; }
  // In fast recovery the window is PRR's (prr.h), not cwnd().
  [[nodiscard]] bool uses_prr() const { return uses_prr_; }
  void set_mss(std::uint32_t mss) { mss_ = mss; }

  virtual void on_ack(const AckSample& sample) = 0;
  // Fast recovery begins. `flight`: the bytes between snd_una and snd_nxt, or of the last round trips if they
  // were more (RFC 7661 §4.4.1).
  virtual void on_loss(std::uint64_t flight) = 0;
  // The retransmission timer has expired; `repeated`: for the same data.
  virtual void on_rto(std::uint64_t flight, bool repeated) = 0;
  // The peer has seen packets marked, for the first time in a window of data (RFC 3168 §6.1.2).
  virtual void on_ecn(std::uint64_t flight) = 0;
  // The last on_loss() or on_rto() that was not `repeated` was needless (RFC 4015): what it took is given
  // back.
  virtual void on_undo() = 0;
  // Data is sent after a time with nothing in flight.
  virtual void on_idle() = 0;

 protected:
  // `initial_window` in bytes (RFC 6928); `mss` is SMSS.
  CongestionControl(std::uint32_t mss, std::uint64_t initial_window) : mss_(mss), cwnd_(initial_window) {}

  std::uint32_t mss_;
  std::uint64_t cwnd_;
  std::uint64_t ssthresh_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t pacing_rate_ = 0;
  bool uses_prr_ = true;
};

[[nodiscard]] std::unique_ptr<CongestionControl> make_congestion_control(CongestionAlgorithm algorithm,
                                                                         std::uint32_t mss,
                                                                         std::uint64_t initial_window);

}  // namespace tfabric::stack
