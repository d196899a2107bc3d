// The sub-command `tfabric stat` (docs/night-duty.md): what the processes of this host's jobs do now.
#pragma once

namespace CLI {
class App;
}

namespace tfabric::stat {

void add_stat(CLI::App& app, int& exit_code);

}  // namespace tfabric::stat
