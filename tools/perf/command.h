// The subcommand `tfabric perf` with its modes; see docs/perf.md.
#pragma once

#include <CLI/CLI.hpp>

namespace tfabric::perf {

// Adds it to the program. When it has run, `exit_code` is 0 ok, 1 wrong data, 2 wrong usage, 3 plugin or
// device unusable, 4 time-out or transport error.
void add_perf(CLI::App& app, int& exit_code);

}  // namespace tfabric::perf
