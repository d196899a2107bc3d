// Draws scenarios from seeds. Most are small, since many small ones find more than a few large ones.
#pragma once

#include <cstdint>

#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

// A valid one; the same from the same seed.
[[nodiscard]] Scenario draw_scenario(std::uint64_t seed);

}  // namespace tfabric::simulation
