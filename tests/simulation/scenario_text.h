// A scenario as text, one `name = value` a line, for files, for people and for the shrinker. What has its
// default is left out. Times in nanoseconds.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

[[nodiscard]] std::string to_text(const Scenario& scenario);
// Empty lines and those that begin with '#' are skipped. The scenario is valid: it can be run.
[[nodiscard]] Result<Scenario> parse_scenario(std::string_view text);
// What makes it impossible to run; empty if nothing does.
[[nodiscard]] std::string why_invalid(const Scenario& scenario);

}  // namespace tfabric::simulation
