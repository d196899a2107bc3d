// A rail of the kind `pci`: whether its NIC is DPDK's to take.
#pragma once

#include "config/config.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

void check_pci_rail(const Host& host, const config::Rail& rail, Findings& findings);

}  // namespace tfabric::check
