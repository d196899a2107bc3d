// What one flow has done between two readings of its connection, and the rate that it is expected to deliver.
//
// While the network limits the flow, the expected rate follows the measured one. Otherwise this host, the
// application or the peer sets the rate, and what is measured is a lower bound: it counts until the network
// limits the flow again, and for half as much with each second. It falls more quickly while bytes are on
// their way nearly all the time: a network that takes a burst at once may carry little after it. A flow that
// was slow once and is not used any more is to be probed now and then, with little: much would be late if it
// is still slow. No I/O and no clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/time.h"
#include "transport/lane/meters.h"

namespace tfabric::flows {

struct FlowReading {
  std::uint64_t delivered = 0;        // bytes
  std::uint64_t carried = 0;          // as lane::Meters has it
  Duration busy{}, limited{};         // time with bytes on their way; the part when the network limited it
  Duration in_network{};              // as lane::Meters has it
  Duration srtt{}, min_rtt{};         // zero: not known
  std::uint64_t rate = 0;             // the expected one, bytes a second; 0: not known
  bool unused = false;                // for so long that its rate may have changed
  bool recovered = false;             // it has delivered much more than was expected
  std::uint32_t timeouts_in_row = 0;  // with nothing delivered between them
  std::uint32_t path_mss = 0;  // if the path drops larger segments silently: the size that arrives; else 0
  [[nodiscard]] bool network_limited() const { return busy > Duration::zero() && 2 * limited >= busy; }
};

class FlowMeter {
 public:
  static constexpr Duration kUnused = std::chrono::milliseconds(300);

  // Returns what the flow did since the last reading, or since it began.
  FlowReading read(const lane::Meters& meters, Instant now) {
    FlowReading reading{.delivered = meters.delivered - delivered_,
                        .carried = std::max(meters.carried, carried_) - carried_,
                        .busy = meters.busy - busy_,
                        .limited = meters.network_limited - limited_,
                        .in_network = meters.in_network - in_network_,
                        .srtt = meters.round_trip,
                        .min_rtt = meters.least_round_trip};
    take_rate(reading, now);
    timeouts_in_row_ = (reading.delivered > 0 ? 0 : timeouts_in_row_) + (meters.timeouts - timeouts_);
    reading.rate = expected();
    reading.timeouts_in_row = timeouts_in_row_;
    reading.path_mss = meters.path_mss;
    delivered_ = meters.delivered;
    carried_ = std::max(meters.carried, carried_);
    busy_ = meters.busy;
    limited_ = meters.network_limited;
    in_network_ = meters.in_network;
    timeouts_ = meters.timeouts;
    return reading;
  }

 private:
  [[nodiscard]] std::uint64_t expected() const { return std::max(rate_, bound_); }

  void take_rate(FlowReading& reading, Instant now) {
    const std::uint64_t before = expected();
    const bool throughout = 4 * reading.busy >= 3 * (now - read_at_);
    const double age = std::chrono::duration<double>(now - read_at_).count();
    bound_ = static_cast<std::uint64_t>(static_cast<double>(bound_) * std::exp2(-age));
    read_at_ = now;
    if (reading.busy <= Duration::zero()) {
      reading.unused = before != 0 && now - used_at_ >= kUnused;
      return;
    }
    used_at_ = now;
    const double seconds = std::chrono::duration<double>(reading.busy).count();
    const auto seen = static_cast<std::uint64_t>(static_cast<double>(reading.delivered) / seconds);
    reading.recovered = before != 0 && seen / 2 > before;
    constexpr std::uint64_t kWeight = 4;
    constexpr std::uint64_t kTelling = 8u << 10;  // a hello, or a report, says nothing
    if (!reading.network_limited()) {
      if (reading.delivered >= kTelling) {
        bound_ = std::max(seen, throughout ? bound_ - bound_ / kWeight + seen / kWeight : bound_);
      }
      return;
    }
    rate_ = rate_ == 0 ? seen : std::max<std::uint64_t>(rate_ - rate_ / kWeight + seen / kWeight, 1);
    bound_ = 0;
  }

  std::uint64_t delivered_ = 0, carried_ = 0;
  std::uint64_t rate_ = 0, bound_ = 0;  // measured while the network was the limit, and while it was not
  Duration busy_{}, limited_{}, in_network_{};
  std::uint32_t timeouts_ = 0, timeouts_in_row_ = 0;
  Instant read_at_{}, used_at_{};
};

}  // namespace tfabric::flows
