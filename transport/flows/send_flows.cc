#include "transport/flows/send_flows.h"

#include <chrono>

namespace tfabric::flows {

void SendFlows::opening(stripe::RouteId route, lane::Lane& lane, std::uint32_t piece_bytes) {
  const std::size_t number = lane.id().value;
  if (number >= flows_.size()) {
    flows_.resize(number + 1);
    outlets_.resize(number + 1);
  }
  flows_[number] = {.state = State::opening, .route = route, .lane = &lane, .meter = {}};
  outlets_[number] = {.piece_bytes = piece_bytes};
}

bool SendFlows::welcomed(stripe::LaneId flow) {
  if (state(flow) != State::opening) {
    return false;
  }
  flows_[flow.value].state = State::open;
  outlets_[flow.value].lane = flows_[flow.value].lane;
  return true;
}

void SendFlows::gone(stripe::LaneId flow) {
  flows_[flow.value] = {};
  outlets_[flow.value] = {};
}

void SendFlows::retire(stripe::LaneId flow) {
  flows_[flow.value].state = State::leaving;
  outlets_[flow.value].lane = nullptr;
}

void SendFlows::lost(stripe::LaneId flow) {
  flows_[flow.value].state = State::lost;
  flows_[flow.value].lane = nullptr;
  outlets_[flow.value] = {};
}

// Sends pieces to the first `wanted` of the route's open flows that `accept` returns true for, and to none of
// its other such flows.
template <class Accept>
std::uint32_t SendFlows::deal(stripe::RouteId route, std::uint32_t wanted, const Accept& accept) {
  std::uint32_t dealt = 0;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (flows_[i].route == route && flows_[i].state == State::open && accept(flows_[i])) {
      const bool deals = dealt < wanted && !flows_[i].suspected;
      outlets_[i].lane = deals ? flows_[i].lane : nullptr;
      dealt += deals ? 1 : 0;
    }
  }
  return dealt;
}

void SendFlows::deal_to(stripe::RouteId route, std::uint32_t wanted) {
  const std::uint32_t trusted = deal(route, wanted, [](const Flow& flow) { return !flow.distrusted; });
  // A bad path is better than none.
  const std::uint32_t rest = trusted == 0 ? wanted : 0;
  deal(route, rest, [](const Flow& flow) { return flow.distrusted; });
}

void SendFlows::measure(stripe::RouteId route, std::vector<FlowJudge::Sight>& readings, Instant now) {
  readings.clear();
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    Flow& flow = flows_[i];
    if (flow.route == route && (flow.state == State::open || flow.state == State::leaving)) {
      readings.push_back({{i}, flow.meter.read(flow.lane->meters(), now)});
      outlets_[i].rate = readings.back().reading.rate;
      outlets_[i].latency = std::chrono::duration<double>(readings.back().reading.min_rtt).count() / 2;
    }
  }
}

std::uint32_t SendFlows::dealt(stripe::RouteId route) const {
  std::uint32_t dealt = 0;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    dealt += flows_[i].route == route && outlets_[i].lane != nullptr ? 1 : 0;
  }
  return dealt;
}

std::uint32_t SendFlows::count(stripe::RouteId route) const {
  std::uint32_t count = 0;
  for (const Flow& flow : flows_) {
    const bool lives = flow.state == State::opening || flow.state == State::open;
    count += flow.route == route && lives && !flow.distrusted ? 1 : 0;
  }
  return count;
}

std::optional<stripe::LaneId> SendFlows::spare(stripe::RouteId route) const {
  for (std::size_t i = flows_.size(); i-- > 0;) {
    if (flows_[i].route == route && flows_[i].state == State::open && !flows_[i].distrusted &&
        outlets_[i].lane == nullptr) {
      return stripe::LaneId{i};
    }
  }
  return std::nullopt;
}

std::optional<stripe::LaneId> SendFlows::distrusted(stripe::RouteId route) const {
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (flows_[i].route == route && flows_[i].state == State::open && flows_[i].distrusted) {
      return stripe::LaneId{i};
    }
  }
  return std::nullopt;
}

}  // namespace tfabric::flows
