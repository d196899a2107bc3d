// Applies and undoes steps, recording each move in the journal before it is made.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/setup/journal.h"
#include "tools/setup/steps.h"

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

}  // namespace tfabric::setup
