// Runs a scenario to its end, and checks the properties of failure.h on the way and at the end.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/failure.h"
#include "tests/simulation/observer.h"
#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

struct Report {
  struct Broken {
    Property property;
    std::string text;
  };
  std::optional<Broken> failure;  // the first property that does not hold
  Duration took{};
  std::uint64_t packets = 0;
  std::uint64_t bytes_read = 0;
  double fairness = 1;
  // Of each flow's ends, as long as they had a connection.
  std::vector<std::array<stack::ConnectionInfo, 2>> flows;
};

// `scenario` must be valid (scenario_text.h). `observer` may be null.
[[nodiscard]] Report run(const Scenario& scenario, Observer* observer = nullptr);

}  // namespace tfabric::simulation
