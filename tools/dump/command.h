// The sub-command `tfabric dump`.
#pragma once

#include <CLI/CLI.hpp>

namespace tfabric::dump {

// `exit_code` is set when the sub-command has run.
void add_dump(CLI::App& app, int& exit_code);

}  // namespace tfabric::dump
