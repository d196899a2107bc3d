// Whether processes can share the rails out, and another has one of them.
#pragma once

#include <sys/types.h>

#include <optional>

#include "config/config.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

// Who has a rail now, in whichever folder.
[[nodiscard]] std::optional<pid_t> holder_of(const Host& host, const config::LockFolder& configured,
                                             const config::Rail& rail);
void check_leases(const Host& host, const config::Config& config, Findings& findings);

}  // namespace tfabric::check
