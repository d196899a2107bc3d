#include "transport/flows/flow_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

namespace tfabric::flows {
namespace {

constexpr std::uint32_t kTimeoutsInRow = 2;
constexpr Duration kLeastLate = std::chrono::milliseconds(1);
// After this many pauses without a verdict, the paths are assumed to have changed, and the pause is reset.
constexpr int kForgiving = 8;

// Returns a value of the better half; of three or more not the best, which may be an exception. Returns 0 if
// fewer than two are known. `better` orders the best first.
template <class Value, class Better>
Value usual(std::vector<Value> values, const Better& better) {
  std::erase(values, Value{});
  if (values.size() < 2) {
    return {};
  }
  std::sort(values.begin(), values.end(), better);
  return values[(values.size() - 1) / 3];
}

}  // namespace

std::optional<Fault> FlowJudge::fault_of(const FlowReading& reading, std::uint64_t usual_rate,
                                         Duration usual_srtt) const {
  if (reading.timeouts_in_row >= kTimeoutsInRow) {
    return Fault::timeouts;
  }
  if (reading.rate * kFar < usual_rate) {
    return Fault::slow;
  }
  if (usual_srtt > Duration::zero() && reading.srtt > kLate * usual_srtt &&
      reading.srtt > usual_srtt + kLeastLate) {
    return Fault::late;
  }
  return std::nullopt;
}

bool FlowJudge::condemn(Record& record, std::optional<Fault> fault, const FlowReading& reading, Instant now) {
  if (fault == Fault::timeouts) {
    return true;
  }
  if (!reading.network_limited()) {
    return false;  // this reading speaks neither for nor against the flow
  }
  if (!fault) {
    record = {};
    return false;
  }
  if (record.sightings++ == 0) {
    record.since = now;
  }
  return record.sightings >= kSightings && now - record.since >= kPatience;
}

std::optional<FlowJudge::Verdict> FlowJudge::on_readings(std::span<const Sight> sights, Instant now) {
  std::vector<std::uint64_t> rates;
  std::vector<Duration> round_trips;
  for (const Sight& sight : sights) {
    // A flow that the network does not limit may have a rate that was measured at another time, and short
    // round trips because it is hardly used.
    if (sight.reading.network_limited()) {
      rates.push_back(sight.reading.rate);
      round_trips.push_back(sight.reading.srtt);
    }
    if (sight.flow.value >= records_.size()) {
      records_.resize(sight.flow.value + 1);
    }
  }
  const std::uint64_t usual_rate = usual(std::move(rates), std::greater<>());
  const Duration usual_srtt = usual(std::move(round_trips), std::less<>());
  std::optional<Verdict> verdict;
  for (const Sight& sight : sights) {
    const std::optional<Fault> fault = fault_of(sight.reading, usual_rate, usual_srtt);
    const bool condemned = condemn(records_[sight.flow.value], fault, sight.reading, now);
    if (fault && condemned && now >= next_ && !verdict) {
      verdict = Verdict{sight.flow, *fault, sight.reading, usual_rate, usual_srtt};
    }
  }
  if (verdict) {
    pause_ = now - next_ > kForgiving * pause_ ? kFirstPause : std::min<Duration>(2 * pause_, kLastPause);
    next_ = now + pause_;
    forget(verdict->flow);
  }
  return verdict;
}

void FlowJudge::forget(stripe::LaneId flow) {
  if (flow.value < records_.size()) {
    records_[flow.value] = {};
  }
}

std::string to_string(const FlowJudge::Verdict& verdict) {
  constexpr auto gbits = [](std::uint64_t rate) { return static_cast<double>(rate) * 8e-9; };
  constexpr auto ms = [](Duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
  const FlowReading& reading = verdict.reading;
  switch (verdict.fault) {
    case Fault::slow:
      return fmt::format("is far slower than the others ({:.3f} of {:.3f} Gbit/s)", gbits(reading.rate),
                         gbits(verdict.usual_rate));
    case Fault::late:
      return fmt::format("has far longer round trips than the others ({:.2f} of {:.2f} ms)", ms(reading.srtt),
                         ms(verdict.usual_srtt));
    case Fault::timeouts:
      break;
  }
  return fmt::format("has timed out {} times in a row", reading.timeouts_in_row);
}

}  // namespace tfabric::flows
