// What setup tells, for people and as JSON.
#pragma once

#include <string>

#include "tools/setup/plan.h"
#include "tools/setup/runner.h"

namespace tfabric::setup {

[[nodiscard]] std::string plan_text(const Host& host, const Journal& journal, const Plan& plan);
[[nodiscard]] Json plan_json(const Host& host, const Journal& journal, const Plan& plan);
// A line about one that has ended.
[[nodiscard]] std::string line_of(const StepReport& report);
[[nodiscard]] Json json_of(const StepReport& report);
// How the host is now.
[[nodiscard]] std::string summary(const Host& host, const Plan& plan);

}  // namespace tfabric::setup
