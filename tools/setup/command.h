// `tfabric setup` (docs/setup.md): its command line, and a run of it without one, for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "tools/setup/host.h"
#include "tools/setup/plan.h"

namespace CLI {
class App;
}

namespace tfabric::setup {

enum ExitCode : int { kOk = 0, kFailed = 1, kUsage = 2, kNothing = 3 };

// Adds the subcommand to the program. When it has run, `exit_code` is an ExitCode.
void add_setup(CLI::App& app, int& exit_code);

struct Request {
  enum class Verb : std::uint8_t { apply, dry_run, undo, boot, docker, kubernetes };

  Verb verb = Verb::apply;
  bool yes = false;
  bool no_trial = false;
  bool json = false;
  PlanOptions plan;
};

// Where a run prints, and asks for consent.
struct Console {
  std::function<void(const std::string&)> out, err;
  // Returns the user's answer, or nothing if there is no terminal.
  std::function<std::optional<bool>()> ask;
  // Opens the NICs of the configuration in this file, and returns what their networks answered; the error
  // says what is wrong with them.
  std::function<Result<std::string>(const std::string& file)> try_nics;
};

// Returns an ExitCode.
int run_session(Host& host, const Console& console, const Request& request);

}  // namespace tfabric::setup
