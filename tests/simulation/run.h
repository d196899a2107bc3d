// Runs a scenario to its end and checks what must hold on the way and at the end.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

struct Report {
  std::optional<std::string> failure;  // the first property that does not hold
  Duration took{};
  std::array<stack::ConnectionInfo, 2> last;  // of each end, before it was gone
};

[[nodiscard]] Report run(const Scenario& scenario);

}  // namespace tfabric::simulation
