// Everything a run is made of, drawn from a seed.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tests/simulation/host.h"
#include "tests/simulation/wire.h"

namespace tfabric::simulation {

struct Scenario {
  std::uint64_t seed = 0;
  Instant start;
  Duration bound;             // both ends must be done by then
  bool must_succeed = false;  // nothing happens that excuses an error
  std::array<HostOptions, 2> hosts;
  std::array<WireOptions, 2> wires;  // wires[i] leads away from hosts[i]

  [[nodiscard]] std::string describe() const;
};

[[nodiscard]] Scenario draw_scenario(std::uint64_t seed);

}  // namespace tfabric::simulation
