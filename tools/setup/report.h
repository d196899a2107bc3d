// What setup prints: the plan, the outcome of each step and a summary, for people and as JSON; and what a
// container needs.
#pragma once

#include <string>

#include "tools/setup/plan.h"
#include "tools/setup/runner.h"

namespace tfabric::setup {

[[nodiscard]] std::string plan_text(const Host& host, const Journal& journal, const Plan& plan);
[[nodiscard]] Json plan_json(const Host& host, const Journal& journal, const Plan& plan);
// The outcome of one step, a line of text.
[[nodiscard]] std::string line_of(const StepReport& report);
[[nodiscard]] Json json_of(const StepReport& report);
// The state of the host after a successful run.
[[nodiscard]] std::string summary(const Host& host, const Plan& plan);

// The options of `docker run`, and a fragment of a pod's specification with comments, that give a container
// this host's rails. Errors: no ENI is bound to DPDK's driver here, or containers cannot use that driver.
Result<std::string> docker_flags(const Facts& facts);
Result<std::string> pod_fragment(const Facts& facts);

}  // namespace tfabric::setup
