// A scenario as text, one `name = value` a line, for files, people and the shrinker. Defaults are left out.
// Times are in nanoseconds.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

[[nodiscard]] std::string to_text(const Scenario& scenario);
// Empty lines and those that begin with '#' are skipped. The scenario is valid: it can be run.
[[nodiscard]] Result<Scenario> parse_scenario(std::string_view text);
// Returns why the scenario cannot be run; empty: it can.
[[nodiscard]] std::string why_invalid(const Scenario& scenario);

}  // namespace tfabric::simulation
