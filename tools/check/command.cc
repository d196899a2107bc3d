#include "tools/check/command.h"

#include <fmt/format.h>

#include <memory>

#include "tools/check/report.h"

namespace tfabric::check {

void add_check(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* check = app.add_subcommand(
      "check",
      "Say what is wrong on this host, for this user and environment, and how to mend it, and which network "
      "NCCL will use. Changes nothing");
  check->add_flag("--json", *json, "Print JSON");
  check->footer(
      "Exit codes: 0 all is right, 1 warnings only, 2 wrong usage, 3 tfabric is not usable here as it is.");
  check->callback([json, &exit_code] {
    const Report report = examine(this_host(), look_at_rdma);
    fmt::print("{}", *json ? to_json(report).dump(2) + "\n" : to_text(report));
    exit_code = exit_code_of(report);
  });
}

}  // namespace tfabric::check
