// The program `tfabric`: its sub-commands and their common options.
#include <CLI/CLI.hpp>

#include "base/version.h"
#include "tools/check/check.h"
#include "tools/info.h"
#include "tools/perf/command.h"
#include "tools/setup/command.h"
#include "tools/wire/command.h"

namespace {
constexpr int kUsage = 2;
}

int main(int argc, char** argv) {
  CLI::App app{"tfabric: a network for NCCL, over user-space TCP on DPDK or over RDMA"};
  app.set_version_flag("-V,--version", tfabric::version());
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 fine, 1 wrong data, 2 wrong usage, 3 the network is not usable here, 4 time-out or "
      "transport error.");
  int exit_code = 0;
  tfabric::tools::add_info(app, exit_code);
  tfabric::check::add_check(app, exit_code);
  tfabric::perf::add_perf(app, exit_code);
  tfabric::setup::add_setup(app, exit_code);
  tfabric::wire::add_wire(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version end here too, with code 0.
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return exit_code;
}
