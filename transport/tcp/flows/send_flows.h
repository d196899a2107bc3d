// The flows of a send comm: which path each takes, which of them get chunks, which come and which go.
//
//   opening --welcome--> open --retire()--> leaving --all acknowledged--> gone
//
// A flow that is opening may be lost, and one that is leaving once all of it is acknowledged, without harm to
// the comm. This is the book-keeping; the comm itself opens and closes them. Used with the engine held.
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

  // Flow `number` of the comm is being opened over path `route`.
  void opening(std::size_t number, std::size_t route, stack::Connection& connection);
  // False: it was not being opened.
  bool welcomed(std::size_t number);
  void gone(std::size_t number);
  // It gets no more chunks, and is to be closed once all of it is acknowledged.
  void retire(std::size_t number);
  // Its path is bad: it gets no chunks while there is another, and counts as missing.
  void distrust(std::size_t number) { flows_[number].distrusted = true; }
  // An open flow of the route that is distrusted; not `keep`.
  [[nodiscard]] std::optional<std::size_t> distrusted(std::size_t route,
                                                      std::optional<std::size_t> keep) const;
  [[nodiscard]] State state(std::size_t number) const {
    return number < flows_.size() ? flows_[number].state : State::gone;
  }

  [[nodiscard]] std::size_t route(std::size_t number) const { return flows_[number].route; }

  // Chunks go to the first `wanted` open flows of the route.
  void deal_to(std::size_t route, std::uint32_t wanted);
  // How many flows of the route get chunks.
  [[nodiscard]] std::uint32_t dealt(std::size_t route) const;
  // Flows of the route that are open or will be, and trusted.
  [[nodiscard]] std::uint32_t count(std::size_t route) const;
  // A flow of the route that gets no chunks, though open; not `keep`.
  [[nodiscard]] std::optional<std::size_t> spare(std::size_t route, std::optional<std::size_t> keep) const;

  // Reads what the route's flows have done since the last time, by number; their rates are news for
  // outlets().
  void measure(std::size_t route, std::vector<FlowJudge::Sight>& readings);
  // As the outbox wants them.
  [[nodiscard]] std::span<const lane::Outlet> outlets() const { return outlets_; }

 private:
  struct Flow {
    State state = State::gone;
    std::size_t route = 0;
    stack::Connection* connection = nullptr;
    FlowMeter meter;
    bool distrusted = false;
  };

  template <class Accept>
  std::uint32_t deal(std::size_t route, std::uint32_t wanted, const Accept& accept);

  std::vector<Flow> flows_;
  std::vector<lane::Outlet> outlets_;
};

}  // namespace tfabric::tcp
