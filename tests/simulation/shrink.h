// Takes a failing scenario apart, until no smaller one fails by the same property.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/simulation/failure.h"
#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

struct Shrunk {
  Scenario scenario;
  std::optional<Property> property;  // none: the scenario does not fail, and is as it was
  std::uint64_t runs = 0;
};

// `most_runs` bounds the search.
[[nodiscard]] Shrunk shrink(const Scenario& scenario, std::uint64_t most_runs = 2000);

}  // namespace tfabric::simulation
