// Carries steps out, and undoes them, with the journal always one move ahead.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/setup/journal.h"
#include "tools/setup/step.h"

namespace tfabric::setup {

// Told of each step once, when it has ended.
struct StepReport {
  enum class Outcome : std::uint8_t { already, done, undone, failed };

  std::string description;
  Outcome outcome = Outcome::done;
  std::string failure;
};
using Report = std::function<void(const StepReport&)>;

// Whether nothing is left to do for a step.
[[nodiscard]] bool is_done(const Host& host, const Journal& journal, const Step& step);

// In their order; ends at the first that fails, having taken back what it did, if it is new.
Status apply_steps(Host& host, Journal& journal, const std::vector<StepPtr>& steps, const Report& report);
// All of the journal's, the last first. One that fails stays in the journal, and the others go on.
Status undo_steps(Host& host, Journal& journal, const Report& report);
// What a reboot has undone. The journal stays as it is. One that fails does not stop the others.
Status apply_at_boot(Host& host, const Journal& journal, const Report& report);

}  // namespace tfabric::setup
