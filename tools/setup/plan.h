// What setup will do: a function of the facts and of what was asked for, and of nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/setup/facts.h"
#include "tools/setup/selection.h"
#include "tools/setup/step.h"

namespace tfabric::setup {

struct PlanOptions {
  std::vector<std::string> nics, exclude;
  std::optional<std::uint32_t> ranks;          // processes of this host; none: as many as GPUs
  std::optional<std::uint32_t> hugepages_gib;  // none: what the ranks need
  std::string group;                           // whose users may run jobs; empty: root alone
  bool allow_no_iommu = false;
  bool replace_config = false;
  bool kernel_command_line = false;
};

struct Plan {
  Selection selection;
  std::vector<StepPtr> steps;
  std::vector<std::string> notes;  // what the administrator should know, a line each
};

// Without an ENI, no steps. Errors: invalid_usage (what was asked for cannot be), unusable (the host cannot).
Result<Plan> make_plan(const Facts& facts, const PlanOptions& options);

}  // namespace tfabric::setup
