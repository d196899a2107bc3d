// `tfabric perf` alone.
#include <CLI/CLI.hpp>

#include "tools/perf/command.h"

int main(int argc, char** argv) {
  CLI::App app;
  int exit_code = 0;
  tfabric::perf::add_perf(app, exit_code, [] { return tfabric::Status(); });
  CLI11_PARSE(app, argc, argv)
  return exit_code;
}
