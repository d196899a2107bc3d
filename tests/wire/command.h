// The subcommand `tfabric wire` (docs/wire.md): its command line, and the forwarding that it starts.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/wire/driver.h"

namespace CLI {
class App;
}

namespace tfabric::wire {

// Adds the subcommand to the program. When it has run, `exit_code` is 0 success, 2 wrong usage, 3 a port
// cannot be used here, 4 no wire answers on the control socket.
void add_wire(CLI::App& app, int& exit_code);

struct ForwardOptions {
  DriverOptions driver;
  std::vector<std::string> settings;  // each as after `set`: "to=b loss=1%"
  std::string control;                // the control socket's path; empty: none
  std::chrono::seconds seconds{0};    // 0: until a signal or `stop`
  bool spin = false;                  // never sleep
  bool json = false;
};

// Forwards frames until SIGINT, SIGTERM, `stop` or the end of the time; then prints the statistics.
Status forward(const ForwardOptions& options);

}  // namespace tfabric::wire
