// `tfabric fault`: rails of running processes fail on purpose (docs/rehearsal.md).
#pragma once

#include <CLI/CLI.hpp>

namespace tfabric::fault {

void add_fault(CLI::App& app, int& exit_code);

}  // namespace tfabric::fault
