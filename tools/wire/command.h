// The subcommand `tfabric wire`; see docs/wire.md.
#pragma once

#include <CLI/CLI.hpp>

namespace tfabric::wire {

// Adds it to the program. When it has run, `exit_code` is 0 ok, 2 wrong usage, 3 a port cannot be used here,
// 4 no wire answers on the control socket.
void add_wire(CLI::App& app, int& exit_code);

}  // namespace tfabric::wire
