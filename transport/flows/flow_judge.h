// Finds the flow of a comm that is on a bad path. Networks hash connections to paths, some of which are worse
// than others; a bad flow is replaced by one from another port, which is hashed again.
//
// A flow is bad if, over kPatience, whenever the network limited it, it delivered less than 1/kFar of what
// the better half of the comm's flows toward that peer deliver, or its round trips were kLate times as long;
// or if time-outs followed each other with nothing delivered between them. A flow that is no worse than the
// others is not bad. The intervals between verdicts grow, so that a comm all of whose paths are bad does not
// replace its flows for ever.
//
// No I/O and no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "transport/flows/flow_meter.h"
#include "transport/stripe/message.h"

namespace tfabric::flows {

enum class Fault : std::uint8_t { slow, late, timeouts };

class FlowJudge {
 public:
  static constexpr std::uint64_t kFar = 3;  // a third
  static constexpr int kLate = 4;           // and by at least a millisecond
  static constexpr Duration kPatience = std::chrono::milliseconds(500);
  static constexpr std::uint32_t kSightings = 8;
  // The pause after a verdict: begins with the first and doubles with each, up to the second.
  static constexpr Duration kFirstPause = std::chrono::seconds(2);
  static constexpr Duration kLastPause = std::chrono::minutes(10);

  struct Sight {
    stripe::LaneId flow;
    FlowReading reading;
  };
  struct Verdict {
    stripe::LaneId flow;
    Fault fault = Fault::slow;
    FlowReading reading;
    std::uint64_t usual_rate = 0;
    Duration usual_srtt{};
  };
  // `sights`: of all flows that pieces go to.
  std::optional<Verdict> on_readings(std::span<const Sight> sights, Instant now);
  // Forgets what was seen of the flow: its number now belongs to another one, or to none.
  void forget(stripe::LaneId flow);

 private:
  struct Record {
    std::uint32_t sightings = 0;  // how often in a row the flow was bad
    Instant since{};
  };
  [[nodiscard]] std::optional<Fault> fault_of(const FlowReading& reading, std::uint64_t usual_rate,
                                              Duration usual_srtt) const;
  bool condemn(Record& record, std::optional<Fault> fault, const FlowReading& reading, Instant now);

  std::vector<Record> records_;  // by LaneId
  Duration pause_ = kFirstPause;
  Instant next_{};
};

// What is wrong with the flow, with the figures that say so, for messages.
[[nodiscard]] std::string to_string(const FlowJudge::Verdict& verdict);

}  // namespace tfabric::flows
