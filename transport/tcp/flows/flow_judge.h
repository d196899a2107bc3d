// Which of a comm's flows toward one peer is on a bad path: networks hash connections to paths, and some of
// those are worse than others. A flow that is judged is replaced by one from another port, which is hashed
// anew.
//
// A flow is bad if for a while, whenever the network was what limited it, it has delivered less than kFar of
// what the better half of its sisters deliver, or its round trips were kLate times as long; or if time-out
// has followed time-out with nothing delivered between them. What is as bad for all is nobody's fault.
// Verdicts come at intervals that grow, so that a comm with hopeless paths does not change them for ever.
//
// No I/O and no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "transport/tcp/flows/flow_meter.h"

namespace tfabric::tcp {

enum class Fault : std::uint8_t { slow, late, timeouts };

class FlowJudge {
 public:
  static constexpr std::uint64_t kFar = 3;  // a third
  static constexpr int kLate = 4;           // and by at least a millisecond
  static constexpr Duration kPatience = std::chrono::milliseconds(500);
  static constexpr std::uint32_t kSightings = 8;
  // Between two verdicts: doubled each time, from the first to the second.
  static constexpr Duration kFirstPause = std::chrono::seconds(2);
  static constexpr Duration kLastPause = std::chrono::minutes(10);

  struct Sight {
    std::size_t flow = 0;  // the comm's number for it
    FlowReading reading;
  };
  struct Verdict {
    std::size_t flow = 0;
    Fault fault = Fault::slow;
    FlowReading reading;
    std::uint64_t usual_rate = 0;
    Duration usual_srtt{};
  };
  // `sights`: of all flows that get chunks.
  std::optional<Verdict> on_readings(std::span<const Sight> sights, Instant now);
  // The flow of that number is gone.
  void forget(std::size_t flow);

 private:
  struct Record {
    std::uint32_t sightings = 0;  // in a row that it was bad
    Instant since{};
  };
  [[nodiscard]] std::optional<Fault> fault_of(const FlowReading& reading, std::uint64_t usual_rate,
                                              Duration usual_srtt) const;
  bool condemn(Record& record, std::optional<Fault> fault, const FlowReading& reading, Instant now);

  std::vector<Record> records_;  // by flow
  Duration pause_ = kFirstPause;
  Instant next_{};
};

[[nodiscard]] const char* to_string(Fault fault);

}  // namespace tfabric::tcp
