// The flows of a send comm: which route each takes, which of them pieces go to, which join and which leave.
//
//   opening --welcome--> open --retire()--> leaving --all acknowledged--> gone
//   opening, open, leaving --lost()--> lost --settled (stripe/burial.h)--> gone
//
// This class only keeps the books: the comm itself opens and closes the flows. Used with the engine held.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/engine/turn.h"
#include "transport/flows/flow_judge.h"
#include "transport/flows/flow_meter.h"
#include "transport/lane/lane.h"
#include "transport/stripe/lane.h"

namespace tfabric::flows {

class SendFlows {
 public:
  enum class State : std::uint8_t { gone, opening, open, leaving, lost };

  // The comm is opening the flow over this route. The lane must outlive its use here, until lost() or gone().
  // `piece_bytes`: see stripe::Outlet.
  void opening(stripe::RouteId route, lane::Lane& lane, std::uint32_t piece_bytes);
  // Returns false if the flow was not being opened.
  bool welcomed(stripe::LaneId flow);
  // The flow's connection is gone, and what it has delivered is not known yet.
  void lost(stripe::LaneId flow);
  void gone(stripe::LaneId flow);
  // The flow gets no more pieces; the comm closes it once all of it is acknowledged.
  void retire(stripe::LaneId flow);
  // Nothing arrives on the flow, which may be dead: it gets no pieces while that is so, but does not count as
  // missing.
  void suspect(stripe::LaneId flow, bool suspected) { flows_[flow.value].suspected = suspected; }
  // The flow's path is bad: the flow gets no pieces while there is another one, and counts as missing.
  void distrust(stripe::LaneId flow) { flows_[flow.value].distrusted = true; }
  // Returns an open flow of the route that is distrusted.
  [[nodiscard]] std::optional<stripe::LaneId> distrusted(stripe::RouteId route) const;
  [[nodiscard]] State state(stripe::LaneId flow) const {
    return flow.value < flows_.size() ? flows_[flow.value].state : State::gone;
  }

  [[nodiscard]] stripe::RouteId route(stripe::LaneId flow) const { return flows_[flow.value].route; }

  // Sends pieces to the first `wanted` open flows of the route, and to no others of it.
  void deal_to(stripe::RouteId route, std::uint32_t wanted);
  // How many flows of the route pieces go to.
  [[nodiscard]] std::uint32_t dealt(stripe::RouteId route) const;
  // How many flows of the route are open or opening, and trusted.
  [[nodiscard]] std::uint32_t count(stripe::RouteId route) const;
  // Returns an open flow of the route that no pieces go to.
  [[nodiscard]] std::optional<stripe::LaneId> spare(stripe::RouteId route) const;

  // Reads what the route's flows have done since the last time, and updates their rates in outlets().
  void measure(stripe::RouteId route, std::vector<FlowJudge::Sight>& readings, Instant now) TF_IN_TURN;
  // The flow's next piece is to show whether its rate is still right.
  void probe(stripe::LaneId flow) { outlets_[flow.value].probe = true; }
  // Returns true if pieces go to the flow.
  [[nodiscard]] bool is_dealt(stripe::LaneId flow) const { return outlets_[flow.value].lane != nullptr; }
  // By LaneId, for the outbox.
  [[nodiscard]] std::span<stripe::Outlet> outlets() { return outlets_; }

 private:
  struct Flow {
    State state = State::gone;
    stripe::RouteId route;
    lane::Lane* lane = nullptr;
    FlowMeter meter;
    bool distrusted = false, suspected = false;
  };

  template <class Accept>
  std::uint32_t deal(stripe::RouteId route, std::uint32_t wanted, const Accept& accept);

  std::vector<Flow> flows_;
  std::vector<stripe::Outlet> outlets_;
};

}  // namespace tfabric::flows
