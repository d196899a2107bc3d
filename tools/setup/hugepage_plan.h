// How many hugepages a host's ranks need, and of which size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/setup/hugepage_step.h"
#include "tools/setup/plan.h"

namespace tfabric::setup {

// MiB that a process takes at most with these rails and one engine: docs/configuration.md.
[[nodiscard]] std::uint64_t process_need_mib(const std::vector<Eni>& enis);

// Errors: the host has not so much memory.
Result<std::unique_ptr<HugepageStep>> plan_hugepages(const Facts& facts, const PlanOptions& options,
                                                     const std::vector<Eni>& enis);

// Of the kernel's command line, for the same pages: the step then finds them at boot.
[[nodiscard]] std::string kernel_arguments(const HugepageStep& step);

}  // namespace tfabric::setup
