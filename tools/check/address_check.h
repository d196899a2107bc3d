// Addresses of rails that the kernel has too.
#pragma once

#include "config/config.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

// The kernel would answer for them, too, and reset connections that it has not.
void check_addresses(const Host& host, const config::Rail& rail, Findings& findings);

}  // namespace tfabric::check
