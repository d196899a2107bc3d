// The subcommand `tfabric info`; see docs/tfabric-info.md.
#pragma once

#include <CLI/CLI.hpp>

namespace tfabric::tools {

// Adds it to the program. When it has run, `exit_code` is 0, or 3 if NCCL would not use the plugin here.
void add_info(CLI::App& app, int& exit_code);

}  // namespace tfabric::tools
