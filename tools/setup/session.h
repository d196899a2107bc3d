// A run of `tfabric setup`, but for its command line.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tools/setup/host.h"
#include "tools/setup/plan.h"

namespace tfabric::setup {

enum ExitCode : int { kOk = 0, kFailed = 1, kUsage = 2, kNothing = 3 };

struct Request {
  enum class Verb : std::uint8_t { apply, dry_run, undo, boot, docker, kubernetes };

  Verb verb = Verb::apply;
  bool yes = false;
  bool json = false;
  PlanOptions plan;
};

// Where a run meets people.
struct Console {
  std::function<void(const std::string&)> out, err;
  // Whether they agree; nothing: nobody can be asked.
  std::function<std::optional<bool>()> ask;
};

// Returns the exit code.
int run_session(Host& host, const Console& console, const Request& request);

}  // namespace tfabric::setup
