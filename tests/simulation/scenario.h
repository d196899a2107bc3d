// Everything that defines a run: drawn from a seed (draw.h), or read from a file (scenario_text.h).
//
// The flows go over `rails` networks, each of which joins all hosts: two hosts by a wire in either direction,
// or any number by a switch. A host's packets then leave by its uplink, and wait in the switch for the wire
// down to the host that they are for, which they share with all others.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/endpoint.h"
#include "tests/simulation/wire.h"

namespace tfabric::simulation {

// The longest segment, header included, of a path with IPv6's least MTU (RFC 8200 §5).
inline constexpr std::uint32_t kLeastIpv6Segment = 1280 - 40;

struct HostOptions {
  struct Freeze {
    Instant from{}, until{};
  };
  Duration turn{};  // turns happen at multiples of this
  std::uint32_t segments_per_turn = 64;
  std::vector<Freeze> freezes;  // no turn happens; packets wait
};

struct FlowOptions {
  std::uint32_t rail = 0;
  std::array<EndpointOptions, 2> ends;
};

struct Scenario {
  std::uint64_t seed = 0;
  Instant start{};
  Duration bound = std::chrono::seconds(600);  // all must be done by then
  bool must_succeed = false;                   // no event of the scenario excuses an error
  bool switched = false;
  std::uint32_t rails = 1;
  std::vector<HostOptions> hosts;
  std::vector<WireOptions> wires;  // see wire_from() and wire_to()
  std::vector<FlowOptions> flows;

  // Properties that only some scenarios promise.
  Instant well_at = kNever;  // from then on the network is well, and within recovers_within data moves
  Duration recovers_within{};
  double least_fairness = 0;          // of the bytes that are acknowledged when the first flow is done
  double most_spurious_timeouts = 1;  // of the segments sent, if nothing has been lost

  [[nodiscard]] std::size_t wires_per_rail() const { return hosts.size() * (switched ? 2 : 1); }
  // The wire that leads away from a host, and the one that leads to it.
  [[nodiscard]] std::size_t wire_from(Address address) const {
    return address.rail * wires_per_rail() + address.host;
  }
  [[nodiscard]] std::size_t wire_to(Address address) const {
    const std::size_t first = address.rail * wires_per_rail();
    return first + (switched ? hosts.size() + address.host : 1 - address.host);
  }
  [[nodiscard]] Address address(std::size_t flow, std::size_t end) const {
    return {flows[flow].ends[end].host, flows[flow].rail};
  }
  // A wire damages packets in a way that no checksum detects.
  [[nodiscard]] bool damages() const;
  // A path drops long packets silently, and the flow need not find out: it has no SACK, on which the search
  // for the path's MTU depends (path_mtu.h), or even IPv6's least MTU is too much.
  [[nodiscard]] bool excuses(const FlowOptions& flow) const;
};

}  // namespace tfabric::simulation
