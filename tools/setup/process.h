// Runs a program of the system and keeps what it writes.
#pragma once

#include <string>
#include <vector>

#include "tools/setup/host.h"

namespace tfabric::setup {

// Found by the path that systems have by default, not the caller's. Standard input is empty; messages are in
// the C locale.
Output run_program(const std::vector<std::string>& words);

}  // namespace tfabric::setup
