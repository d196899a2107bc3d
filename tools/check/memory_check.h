// The memory that the TCP rails need: hugepages or ordinary memory, and what limits a process has.
#pragma once

#include "config/config.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

void check_memory(const Host& host, const config::Config& config, Findings& findings);

}  // namespace tfabric::check
