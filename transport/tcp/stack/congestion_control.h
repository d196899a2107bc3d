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

namespace tfabric::stack {

enum class CongestionAlgorithm : std::uint8_t {
  cubic,  // RFC 9438
};

// What one acknowledgement says.
struct AckSample {
  Instant now{};
  std::uint64_t acked = 0;      // bytes by which snd_una has moved
  std::uint64_t delivered = 0;  // bytes that are known for the first time to have arrived, by ACK or SACK
  Duration srtt{};              // smoothed round-trip time; zero: not known yet
  // The window has been in use, so that what it allows is known to be good (RFC 7661 §4.3). While it is
  // not, the window must not grow.
  bool validated = true;
  bool in_recovery = false;  // fast recovery, whose window is PRR's
};

class CongestionControl {
 public:
  virtual ~CongestionControl() = default;
  CongestionControl(const CongestionControl&) = delete;
  CongestionControl& operator=(const CongestionControl&) = delete;

  [[nodiscard]] std::uint64_t cwnd() const { return cwnd_; }
  [[nodiscard]] std::uint64_t ssthresh() const { return ssthresh_; }
  [[nodiscard]] bool in_slow_start() const { return cwnd_ < ssthresh_; }
  void set_mss(std::uint32_t mss) { mss_ = mss; }

  virtual void on_ack(const AckSample& sample) = 0;
  // Fast recovery begins, with `flight` bytes between snd_una and snd_nxt.
  virtual void on_loss(std::uint64_t flight) = 0;
  // The retransmission timer has expired; `repeated`: for the same data.
  virtual void on_rto(std::uint64_t flight, bool repeated) = 0;
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
};

[[nodiscard]] std::unique_ptr<CongestionControl> make_congestion_control(CongestionAlgorithm algorithm,
                                                                         std::uint32_t mss,
                                                                         std::uint64_t initial_window);

}  // namespace tfabric::stack
