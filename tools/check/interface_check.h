// Rails of the kinds `af_packet`, `af_xdp` and `tap`, which need the kernel's interfaces.
#pragma once

#include "config/config.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

void check_af_packet_rail(const Host& host, const config::Rail& rail, Findings& findings);
void check_af_xdp_rail(const Host& host, const config::Config& config, const config::Rail& rail,
                       Findings& findings);
void check_tap_rail(const Host& host, const config::Rail& rail, Findings& findings);

}  // namespace tfabric::check
