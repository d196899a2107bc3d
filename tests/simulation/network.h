// The hosts and wires of a scenario, and the passing of time.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "tests/simulation/host.h"
#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

class Network {
 public:
  Network(const Scenario& scenario, Observer* observer);

  // The time of the next event; kNever: there is none.
  [[nodiscard]] Instant next_event() const;
  // Handles all events at `now`, which must not be later than next_event().
  void advance(Instant now);

  using Flow = std::array<Endpoint*, 2>;
  [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }
  [[nodiscard]] std::uint64_t lost() const;
  // Undamaged packets that belong to no connection of the host at which they arrived.
  [[nodiscard]] std::uint64_t strays() const;

 private:
  void pass_switch(Instant now);

  const Scenario& scenario_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Instant> next_turns_;  // of each host
  std::vector<Wire*> uplinks_;       // to switches; empty without
  std::vector<Flow> flows_;
};

}  // namespace tfabric::simulation
