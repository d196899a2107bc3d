#include "tools/program.h"

#include <CLI/CLI.hpp>
#include <cstddef>

#include "base/version.h"
#include "config/nccl_files.h"
#include "tools/check/check.h"
#include "tools/command_line.h"
#include "tools/dump/command.h"
#include "tools/fault/command.h"
#include "tools/info.h"
#include "tools/perf/command.h"
#include "tools/setup/command.h"
#include "tools/stat/command.h"

namespace tfabric::tools {

void define_command_line(CLI::App& app, int& exit_code) {
  app.name("tfabric");
  app.description("tfabric: a network for NCCL, over user-space TCP on DPDK or over RDMA");
  wrap_help(app);
  app.set_version_flag("-V,--version", version());
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 2 wrong usage, 5 standard output could not be written.\n"
      "`tfabric SUBCOMMAND --help` shows the options and all exit codes of one.");
  add_info(app, exit_code);
  check::add_check(app, exit_code);
  perf::add_perf(app, exit_code, check::rails_ready);
  setup::add_setup(app, exit_code);
  stat::add_stat(app, exit_code);
  dump::add_dump(app, exit_code);
  fault::add_fault(app, exit_code);
  add_help(app, exit_code);
  // `info` and `check` say themselves which file a value is from.
  for (const char* name : {"perf", "stat", "dump", "fault"}) {
    app.get_subcommand(name)->preparse_callback([](std::size_t) { config::take_nccl_files(); });
  }
}

}  // namespace tfabric::tools
