// The command line of the program `tfabric`.
#pragma once

namespace CLI {
class App;
}

namespace tfabric::tools {

// Gives `app`, which is new, the program's name, its common options and all sub-commands. A sub-command sets
// `exit_code` when it has run.
void define_command_line(CLI::App& app, int& exit_code);

}  // namespace tfabric::tools
