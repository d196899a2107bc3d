// The subcommand `tfabric setup`; see docs/setup.md.
#pragma once

#include <CLI/CLI.hpp>

namespace tfabric::setup {

// Adds it to the program. When it has run, `exit_code` is 0 done, 1 a step failed, 2 wrong usage, 3 there is
// nothing that can be set up here.
void add_setup(CLI::App& app, int& exit_code);

}  // namespace tfabric::setup
