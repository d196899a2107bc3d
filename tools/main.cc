// The program `tfabric`: its sub-commands and their common options.
#include <CLI/CLI.hpp>

#include "base/version.h"
#include "tools/check/check.h"
#include "tools/command_line.h"
#include "tools/info.h"
#include "tools/output.h"
#include "tools/perf/command.h"
#include "tools/setup/command.h"
#include "tools/wire/command.h"

int main(int argc, char** argv) {
  if (!tfabric::tools::open_standard_descriptors()) {
    return tfabric::tools::kOutputFailed;
  }
  CLI::App app{"tfabric: a network for NCCL, over user-space TCP on DPDK or over RDMA", "tfabric"};
  tfabric::tools::wrap_help(app);
  app.set_version_flag("-V,--version", tfabric::version());
  app.require_subcommand(1);
  app.footer(
      "`tfabric SUBCOMMAND --help` shows the options and exit codes of one. Of all of them: 2 wrong usage, 5 "
      "standard output could not be written.");
  int exit_code = 0;
  tfabric::tools::add_info(app, exit_code);
  tfabric::check::add_check(app, exit_code);
  tfabric::perf::add_perf(app, exit_code);
  tfabric::setup::add_setup(app, exit_code);
  tfabric::wire::add_wire(app, exit_code);
  tfabric::tools::add_help(app, exit_code);
  return tfabric::tools::finish_output(tfabric::tools::run_command_line(app, argc, argv, exit_code));
}
