// Carries out a plan and undoes it, recording each move in the journal before it is made; and what is printed
// about it, for people and as JSON.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/setup/plan.h"

namespace tfabric::setup {

// The outcome of one step.
struct StepReport {
  enum class Outcome : std::uint8_t { already, done, undone, failed };

  std::string description;
  Outcome outcome = Outcome::done;
  std::string failure;
};
// Called once for each step, when it has ended.
using Report = std::function<void(const StepReport&)>;

// Returns true if nothing is left to do for the step.
[[nodiscard]] bool is_done(const Host& host, const Journal& journal, const Step& step);

// Applies the steps in order. Ends at the first failure; a step that failed is undone if the journal did not
// have it before this run.
Status apply_steps(Host& host, Journal& journal, const std::vector<StepPtr>& steps, const Report& report);
// Undoes all steps of the journal, the last one first. A step that fails stays in the journal, and the others
// are undone. Returns the first failure.
Status undo_steps(Host& host, Journal& journal, const Report& report);
// Applies the steps that a reboot has undone; goes on after a failure, and does not change the journal.
Status apply_at_boot(Host& host, const Journal& journal, const Report& report);

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
