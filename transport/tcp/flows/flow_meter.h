// What one flow has done between two readings of its connection, and the rate that it is expected to deliver.
//
// While the network limits the flow, the expected rate follows the measured one. Otherwise the application
// sets the rate, and only a measurement above the expected rate changes it. The rate of a flow that is not
// used is taken for twice as much now and then: otherwise a flow that was slow once would never be used
// again. Not for as much as others have: what it gets then would be late if it is still slow. No I/O and no
// clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "transport/tcp/stack/byte_stream.h"

namespace tfabric::tcp {

struct FlowReading {
  std::uint64_t delivered = 0;        // bytes
  Duration busy{}, limited{};         // time with bytes on their way; the part when the network limited it
  Duration srtt{};                    // zero: not known
  std::uint64_t rate = 0;             // the expected one, bytes a second; 0: not known
  std::uint32_t timeouts_in_row = 0;  // with nothing delivered between them
  std::uint32_t path_mss = 0;  // if the path drops larger segments silently: the size that arrives; else 0
  [[nodiscard]] bool network_limited() const { return busy > Duration::zero() && 2 * limited >= busy; }
};

class FlowMeter {
 public:
  // Returns what the flow did since the last reading, or since it began.
  FlowReading read(const stack::ConnectionInfo& info) {
    FlowReading reading{.delivered = info.delivered - delivered_,
                        .busy = info.busy - busy_,
                        .limited = info.network_limited - limited_,
                        .srtt = info.srtt};
    take_rate(reading);
    timeouts_in_row_ = (reading.delivered > 0 ? 0 : timeouts_in_row_) + (info.timeouts - timeouts_);
    reading.rate = rate_;
    reading.timeouts_in_row = timeouts_in_row_;
    reading.path_mss = info.path_limited ? info.mss : 0;
    delivered_ = info.delivered;
    busy_ = info.busy;
    limited_ = info.network_limited;
    timeouts_ = info.timeouts;
    return reading;
  }

 private:
  void take_rate(const FlowReading& reading) {
    if (reading.busy <= Duration::zero()) {
      constexpr std::uint32_t kPatience = 32;
      constexpr std::uint64_t kLeastShare = 16;  // of its best, for one that stood still
      constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
      if (++idle_ % kPatience == 0) {
        rate_ = std::min(std::max(2 * rate_, best_ / kLeastShare), kMost);
      }
      return;
    }
    idle_ = 0;
    const double seconds = std::chrono::duration<double>(reading.busy).count();
    const auto seen = static_cast<std::uint64_t>(static_cast<double>(reading.delivered) / seconds);
    if (reading.network_limited()) {
      constexpr std::uint64_t kWeight = 4;
      rate_ = std::max<std::uint64_t>(rate_ == 0 ? seen : rate_ - rate_ / kWeight + seen / kWeight, 1);
    } else if (rate_ != 0) {
      rate_ = std::max(rate_, seen);
    }
    best_ = std::max(best_, rate_);
  }

  std::uint64_t delivered_ = 0, rate_ = 0, best_ = 0;
  Duration busy_{}, limited_{};
  std::uint32_t timeouts_ = 0, timeouts_in_row_ = 0;
  std::uint32_t idle_ = 0;  // readings in a row
};

}  // namespace tfabric::tcp
