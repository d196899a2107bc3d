// Which of a job's processes on this host this one is, by what its launcher says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"

namespace tfabric::config {

// What `environment` has of a launcher: torchrun and DeepSpeed, Open MPI, Intel MPI and MPICH, MVAPICH, PALS,
// JSM, Slurm. The innermost counts where several are nested, as torchrun under srun.
[[nodiscard]] Launcher find_launcher(const Environment& environment);

// Whether a variable is one that find_launcher() looks at.
[[nodiscard]] bool is_launchers(std::string_view variable);

}  // namespace tfabric::config
