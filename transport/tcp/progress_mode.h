// Who turns the engines of a process: what the configuration says, or what suits the CPUs.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "transport/tcp/engine/progress.h"

namespace tfabric::tcp {

// `cpus`: those that the process may run on.
[[nodiscard]] engine::ProgressMode progress_mode(const config::Engine& config, std::uint32_t engines,
                                                 int cpus);

}  // namespace tfabric::tcp
