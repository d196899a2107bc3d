// Congestion control: how many bytes may be in flight, and how fast they may leave.
//
// Each connection has one controller. The connection itself finds losses (rack.h) and paces their repair
// (prr.h); it only reports them to the controller. cwnd() and pacing_rate() are plain reads, since they are
// needed for each segment; the virtual functions are called at most once for an acknowledgement. Windows are
// in bytes, rates in bytes a second.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "base/time.h"
#include "transport/tcp/stack/delivery_rate.h"

namespace tfabric::stack {

// Which congestion control a connection uses.
enum class CongestionAlgorithm : std::uint8_t {
  cubic,       // RFC 9438, with HyStart++ (RFC 9406): fair to other flows, for any path
  dctcp,       // RFC 8257: for networks that mark early; needs Options::ecn, and DCTCP at the peer
  bottleneck,  // a model of the path (bottleneck.h): for links that limit the rate of each flow
};

// What one acknowledgement has shown. Positions are offsets in the stream.
struct AckSample {
  Instant now{};
  std::uint64_t acked = 0;            // bytes by which snd_una has moved
  std::uint64_t delivered = 0;        // bytes that it reports as arrived for the first time
  std::uint64_t growth = 0;           // the part of these for which the window may grow
  std::uint64_t lost = 0;             // bytes newly marked as lost
  std::uint64_t delivered_total = 0;  // since the connection began
  std::uint64_t in_flight = 0;        // after this acknowledgement
  std::uint64_t snd_una = 0, snd_nxt = 0;
  std::uint64_t marked = 0;  // the part of `acked` that arrived with an ECN mark
  Duration rtt{};            // of the newest segment that has arrived; zero: no sample
  Duration srtt{};           // smoothed; zero: not known yet
  Duration min_rtt{};        // the least of the last seconds; zero: not known yet
  RateSample rate{};
  // The window was in use (RFC 7661 §4.3). Otherwise it must not grow, because nothing shows that the path
  // carries that much.
  bool validated = true;
  bool in_recovery = false;  // from a loss or a mark: the window must not grow
};

class CongestionControl {
 public:
  virtual ~CongestionControl() = default;
  CongestionControl(const CongestionControl&) = delete;
  CongestionControl& operator=(const CongestionControl&) = delete;

  [[nodiscard]] std::uint64_t cwnd() const { return cwnd_; }
  [[nodiscard]] std::uint64_t ssthresh() const { return ssthresh_; }
  [[nodiscard]] bool in_slow_start() const { return cwnd_ < ssthresh_; }
  // Zero: no pacing.
  [[nodiscard]] std::uint64_t pacing_rate() const { return pacing_rate_; }
  // Returns true if in fast recovery PRR (prr.h) sets the window, not cwnd().
  [[nodiscard]] bool uses_prr() const { return uses_prr_; }
  void set_mss(std::uint32_t mss) { mss_ = mss; }

  virtual void on_ack(const AckSample& sample) = 0;
  // Fast recovery begins. `flight`: the bytes between snd_una and snd_nxt, or those of the last round trips
  // if they were more (RFC 7661 §4.4.1).
  virtual void on_loss(std::uint64_t flight) = 0;
  // The retransmission timer has expired; `repeated`: once more for the same data.
  virtual void on_rto(std::uint64_t flight, bool repeated) = 0;
  // The peer has reported ECN marks, for the first time in a window of data (RFC 3168 §6.1.2).
  virtual void on_ecn(std::uint64_t flight) = 0;
  // The last on_loss() or on_rto() that was not `repeated` was needless (RFC 4015): restores the window.
  virtual void on_undo() = 0;
  // Data is sent after a time without anything in flight.
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
