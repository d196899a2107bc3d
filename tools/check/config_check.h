// The configuration: whether it is read as it was meant.
#pragma once

#include "base/result.h"
#include "config/config.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

// As the plugin loads it.
Result<config::Config> load_config(const Host& host);
// Whether tfabric is required, as far as a configuration says so that is wrong elsewhere.
bool is_required(const Host& host);
// Loads it as the plugin does; each of its faults is a finding.
Result<config::Config> check_config(const Host& host, Findings& findings);

// Whether anything is left to use if TCP has no rails.
void check_tcp_configured(const config::Config& config, bool rdma_usable, Findings& findings);

}  // namespace tfabric::check
