#include "transport/tcp/flows/send_flows.h"

namespace tfabric::tcp {

void SendFlows::opening(lane::FlowId flow, lane::RouteId route, stack::Connection& connection) {
  const std::size_t number = flow.value;
  if (number >= flows_.size()) {
    flows_.resize(number + 1);
    outlets_.resize(number + 1);
  }
  flows_[number] = {.state = State::opening, .route = route, .connection = &connection, .meter = {}};
  outlets_[number] = {};
}

bool SendFlows::welcomed(lane::FlowId flow) {
  if (state(flow) != State::opening) {
    return false;
  }
  flows_[flow.value].state = State::open;
  outlets_[flow.value].connection = flows_[flow.value].connection;
  return true;
}

void SendFlows::gone(lane::FlowId flow) {
  flows_[flow.value] = {};
  outlets_[flow.value] = {};
}

void SendFlows::retire(lane::FlowId flow) {
  flows_[flow.value].state = State::leaving;
  outlets_[flow.value].connection = nullptr;
}

// Sends pieces to the first `wanted` of the route's open flows that `accept` returns true for, and to none of
// its other such flows.
template <class Accept>
std::uint32_t SendFlows::deal(lane::RouteId route, std::uint32_t wanted, const Accept& accept) {
  std::uint32_t dealt = 0;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (flows_[i].route == route && flows_[i].state == State::open && accept(flows_[i])) {
      outlets_[i].connection = dealt < wanted ? flows_[i].connection : nullptr;
      dealt += dealt < wanted ? 1 : 0;
    }
  }
  return dealt;
}

void SendFlows::deal_to(lane::RouteId route, std::uint32_t wanted) {
  const std::uint32_t trusted = deal(route, wanted, [](const Flow& flow) { return !flow.distrusted; });
  // A bad path is better than none.
  const std::uint32_t rest = trusted == 0 ? wanted : 0;
  deal(route, rest, [](const Flow& flow) { return flow.distrusted; });
}

void SendFlows::measure(lane::RouteId route, std::vector<FlowJudge::Sight>& readings) {
  readings.clear();
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    Flow& flow = flows_[i];
    if (flow.route == route && (flow.state == State::open || flow.state == State::leaving)) {
      readings.push_back({{i}, flow.meter.read(flow.connection->info())});
      outlets_[i].rate = readings.back().reading.rate;
    }
  }
}

std::uint32_t SendFlows::dealt(lane::RouteId route) const {
  std::uint32_t dealt = 0;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    dealt += flows_[i].route == route && outlets_[i].connection != nullptr ? 1 : 0;
  }
  return dealt;
}

std::uint32_t SendFlows::count(lane::RouteId route) const {
  std::uint32_t count = 0;
  for (const Flow& flow : flows_) {
    const bool lives = flow.state == State::opening || flow.state == State::open;
    count += flow.route == route && lives && !flow.distrusted ? 1 : 0;
  }
  return count;
}

std::optional<lane::FlowId> SendFlows::spare(lane::RouteId route, std::optional<lane::FlowId> keep) const {
  for (std::size_t i = flows_.size(); i-- > 0;) {
    if (flows_[i].route == route && flows_[i].state == State::open && !flows_[i].distrusted &&
        outlets_[i].connection == nullptr && lane::FlowId{i} != keep) {
      return lane::FlowId{i};
    }
  }
  return std::nullopt;
}

std::optional<lane::FlowId> SendFlows::distrusted(lane::RouteId route,
                                                  std::optional<lane::FlowId> keep) const {
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (flows_[i].route == route && flows_[i].state == State::open && flows_[i].distrusted &&
        lane::FlowId{i} != keep) {
      return lane::FlowId{i};
    }
  }
  return std::nullopt;
}

}  // namespace tfabric::tcp
