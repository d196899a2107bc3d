// The flows of a send comm: which route each takes, which of them pieces go to, which join and which leave.
//
//   opening --welcome--> open --retire()--> leaving --all acknowledged--> gone
//
// The comm survives the loss of a flow that is opening, and of one that is leaving and has nothing
// unacknowledged. This class only keeps the books: the comm itself opens and closes the flows. Used with the
// engine held.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/tcp/flows/flow_judge.h"
#include "transport/tcp/flows/flow_meter.h"
#include "transport/tcp/lane/outbox.h"

namespace tfabric::tcp {

class SendFlows {
 public:
  enum class State : std::uint8_t { gone, opening, open, leaving };

  // The comm is opening the flow over this route.
  void opening(lane::FlowId flow, lane::RouteId route, stack::Connection& connection);
  // Returns false if the flow was not being opened.
  bool welcomed(lane::FlowId flow);
  void gone(lane::FlowId flow);
  // The flow gets no more pieces; the comm closes it once all of it is acknowledged.
  void retire(lane::FlowId flow);
  // The flow's path is bad: the flow gets no pieces while there is another one, and counts as missing.
  void distrust(lane::FlowId flow) { flows_[flow.value].distrusted = true; }
  // Returns an open flow of the route that is distrusted, other than `keep`.
  [[nodiscard]] std::optional<lane::FlowId> distrusted(lane::RouteId route,
                                                       std::optional<lane::FlowId> keep) const;
  [[nodiscard]] State state(lane::FlowId flow) const {
    return flow.value < flows_.size() ? flows_[flow.value].state : State::gone;
  }

  [[nodiscard]] lane::RouteId route(lane::FlowId flow) const { return flows_[flow.value].route; }

  // Sends pieces to the first `wanted` open flows of the route, and to no others of it.
  void deal_to(lane::RouteId route, std::uint32_t wanted);
  // How many flows of the route pieces go to.
  [[nodiscard]] std::uint32_t dealt(lane::RouteId route) const;
  // How many flows of the route are open or opening, and trusted.
  [[nodiscard]] std::uint32_t count(lane::RouteId route) const;
  // Returns an open flow of the route that no pieces go to, other than `keep`.
  [[nodiscard]] std::optional<lane::FlowId> spare(lane::RouteId route,
                                                  std::optional<lane::FlowId> keep) const;

  // Reads what the route's flows have done since the last time, and updates their rates in outlets().
  void measure(lane::RouteId route, std::vector<FlowJudge::Sight>& readings);
  // By FlowId, for the outbox.
  [[nodiscard]] std::span<const lane::Outlet> outlets() const { return outlets_; }

 private:
  struct Flow {
    State state = State::gone;
    lane::RouteId route;
    stack::Connection* connection = nullptr;
    FlowMeter meter;
    bool distrusted = false;
  };

  template <class Accept>
  std::uint32_t deal(lane::RouteId route, std::uint32_t wanted, const Accept& accept);

  std::vector<Flow> flows_;
  std::vector<lane::Outlet> outlets_;
};

}  // namespace tfabric::tcp
