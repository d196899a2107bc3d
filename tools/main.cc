// The program `tfabric`.
#include <CLI/CLI.hpp>

#include "tools/command_line.h"
#include "tools/output.h"
#include "tools/program.h"

int main(int argc, char** argv) {
  if (!tfabric::tools::open_standard_descriptors()) {
    return tfabric::tools::kOutputFailed;
  }
  CLI::App app;
  int exit_code = 0;
  tfabric::tools::define_command_line(app, exit_code);
  return tfabric::tools::finish_output(tfabric::tools::run_command_line(app, argc, argv, exit_code));
}
