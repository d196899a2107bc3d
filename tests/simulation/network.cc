#include "tests/simulation/network.h"

#include <fmt/format.h>

#include <algorithm>

namespace tfabric::simulation {

Network::Network(const Scenario& scenario, Observer* observer) : scenario_(scenario) {
  Random random(~scenario.seed);
  for (const WireOptions& options : scenario.wires) {
    wires_.push_back(std::make_unique<Wire>(options, random.fork()));
  }
  for (std::uint32_t i = 0; i < scenario.hosts.size(); ++i) {
    std::vector<Wire*> in, out;
    for (std::uint32_t rail = 0; rail < scenario.rails; ++rail) {
      in.push_back(wires_[scenario.wire_to({i, rail})].get());
      out.push_back(wires_[scenario.wire_from({i, rail})].get());
      if (scenario.switched) {
        uplinks_.push_back(out.back());
      }
    }
    hosts_.push_back(std::make_unique<Host>(scenario.hosts[i], std::move(in), std::move(out), observer,
                                            scenario.start, random.fork()));
  }
  const bool compares = !scenario.damages();
  for (std::size_t i = 0; i < scenario.flows.size(); ++i) {
    Flow& flow = flows_.emplace_back();
    for (std::size_t end = 0; end < 2; ++end) {
      const EndpointOptions& options = scenario.flows[i].ends[end];
      const EndpointOptions& peer = scenario.flows[i].ends[1 - end];
      flow[end] = &hosts_[options.host]->add(options,
                                             {.name = fmt::format("flow {} {}", i, end == 0 ? "A" : "B"),
                                              .local = scenario.address(i, end),
                                              .remote = scenario.address(i, 1 - end),
                                              .remote_port = peer.port,
                                              .read_stream = peer.stream,
                                              .compares = compares},
                                             scenario.start);
    }
  }
  next_turns_.assign(hosts_.size(), scenario.start);
}

Instant Network::next_event() const {
  Instant at = *std::min_element(next_turns_.begin(), next_turns_.end());
  for (const Wire* wire : uplinks_) {
    at = std::min(at, wire->next_arrival());
  }
  return at;
}

void Network::advance(Instant now) {
  pass_switch(now);
  bool turned = false;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (next_turns_[i] <= now) {
      hosts_[i]->turn(now);
      turned = true;
    }
  }
  // Without a switch, what one host sends changes the next turn of the other.
  if (turned || !uplinks_.empty()) {
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      next_turns_[i] = hosts_[i]->next_turn();
    }
  }
}

void Network::pass_switch(Instant now) {
  for (Wire* wire : uplinks_) {
    while (auto packet = wire->receive(now)) {
      Wire& down = *wires_[scenario_.wire_to(packet->to)];
      (void)down.send(std::move(*packet), now);
    }
  }
}

std::uint64_t Network::lost() const {
  std::uint64_t lost = 0;
  for (const auto& wire : wires_) {
    lost += wire->lost();
  }
  return lost;
}

std::uint64_t Network::strays() const {
  std::uint64_t strays = 0;
  for (const auto& host : hosts_) {
    strays += host->strays();
  }
  return strays;
}

}  // namespace tfabric::simulation
