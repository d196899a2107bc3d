// Scenarios out of seeds: most are small, since the count of them finds more than their size.
#pragma once

#include <cstdint>

#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

// A valid one; the same from the same seed.
[[nodiscard]] Scenario draw_scenario(std::uint64_t seed);

}  // namespace tfabric::simulation
