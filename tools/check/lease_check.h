// Whether processes can share the rails out, and another has one of them.
#pragma once

#include "config/config.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

void check_leases(const Host& host, const config::Config& config, Findings& findings);

}  // namespace tfabric::check
