// The subcommand `tfabric check`; see docs/check.md.
#pragma once

#include <CLI/CLI.hpp>

namespace tfabric::check {

// Adds it to the program. When it has run, `exit_code` is that of the report.
void add_check(CLI::App& app, int& exit_code);

}  // namespace tfabric::check
