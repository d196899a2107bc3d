// Who will move the data.
#pragma once

#include "config/config.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

void check_progress(const Host& host, const config::Config& config, Findings& findings);

}  // namespace tfabric::check
