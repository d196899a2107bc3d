#include "transport/tcp/flows/send_flows.h"

namespace tfabric::tcp {

void SendFlows::opening(std::size_t number, std::size_t route, stack::Connection& connection) {
  if (number >= flows_.size()) {
    flows_.resize(number + 1);
    outlets_.resize(number + 1);
  }
  flows_[number] = {.state = State::opening, .route = route, .connection = &connection, .meter = {}};
  outlets_[number] = {};
}

bool SendFlows::welcomed(std::size_t number) {
  if (state(number) != State::opening) {
    return false;
  }
  flows_[number].state = State::open;
  outlets_[number].connection = flows_[number].connection;
  return true;
}

void SendFlows::gone(std::size_t number) {
  flows_[number] = {};
  outlets_[number] = {};
}

void SendFlows::retire(std::size_t number) {
  flows_[number].state = State::leaving;
  outlets_[number].connection = nullptr;
}

// Of the route's open flows that `accept` likes, the first `wanted` get chunks and the others none.
template <class Accept>
std::uint32_t SendFlows::deal(std::size_t route, std::uint32_t wanted, const Accept& accept) {
  std::uint32_t dealt = 0;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (flows_[i].route == route && flows_[i].state == State::open && accept(flows_[i])) {
      outlets_[i].connection = dealt < wanted ? flows_[i].connection : nullptr;
      dealt += dealt < wanted ? 1 : 0;
    }
  }
  return dealt;
}

void SendFlows::deal_to(std::size_t route, std::uint32_t wanted) {
  const std::uint32_t trusted = deal(route, wanted, [](const Flow& flow) { return !flow.distrusted; });
  // A bad path is better than none.
  const std::uint32_t rest = trusted == 0 ? wanted : 0;
  deal(route, rest, [](const Flow& flow) { return flow.distrusted; });
}

void SendFlows::measure(std::size_t route, std::vector<FlowJudge::Sight>& readings) {
  readings.clear();
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    Flow& flow = flows_[i];
    if (flow.route == route && (flow.state == State::open || flow.state == State::leaving)) {
      readings.push_back({i, flow.meter.read(flow.connection->info())});
      outlets_[i].rate = readings.back().reading.rate;
    }
  }
}

std::uint32_t SendFlows::dealt(std::size_t route) const {
  std::uint32_t dealt = 0;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    dealt += flows_[i].route == route && outlets_[i].connection != nullptr ? 1 : 0;
  }
  return dealt;
}

std::uint32_t SendFlows::count(std::size_t route) const {
  std::uint32_t count = 0;
  for (const Flow& flow : flows_) {
    const bool lives = flow.state == State::opening || flow.state == State::open;
    count += flow.route == route && lives && !flow.distrusted ? 1 : 0;
  }
  return count;
}

std::optional<std::size_t> SendFlows::spare(std::size_t route, std::optional<std::size_t> keep) const {
  for (std::size_t i = flows_.size(); i-- > 0;) {
    if (flows_[i].route == route && flows_[i].state == State::open && !flows_[i].distrusted &&
        outlets_[i].connection == nullptr && i != keep) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> SendFlows::distrusted(std::size_t route, std::optional<std::size_t> keep) const {
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (flows_[i].route == route && flows_[i].state == State::open && flows_[i].distrusted && i != keep) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace tfabric::tcp
