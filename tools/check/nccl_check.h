// Whether NCCL would load tfabric, in this environment.
#pragma once

#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

void check_nccl(const Host& host, Findings& findings);
// tfabric is asked for by name, so that NCCL fails where it is not usable.
[[nodiscard]] bool nccl_insists(const Host& host);

}  // namespace tfabric::check
