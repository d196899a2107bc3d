// Runs a scenario to its end and checks what must hold on the way and at the end.
#pragma once

#include <optional>
#include <string>

#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

// The text of the first failure, empty if there is none.
[[nodiscard]] std::optional<std::string> run(const Scenario& scenario);

}  // namespace tfabric::simulation
