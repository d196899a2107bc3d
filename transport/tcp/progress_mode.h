// Who turns the engines of a process: what the configuration says, or what suits the CPUs.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "transport/tcp/engine/progress.h"

namespace tfabric::tcp {

// Those that the process may run on.
[[nodiscard]] int usable_cpus();
[[nodiscard]] engine::ProgressMode progress_mode(const config::Engine& config, std::uint32_t engines,
                                                 int cpus);

}  // namespace tfabric::tcp
