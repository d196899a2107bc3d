// DPDK's log, led into the project's.
#pragma once

#include <string>

namespace tfabric::nic {

// From now on what DPDK says goes to base/log.h at TRACE, and nothing to stdout or stderr.
void capture_dpdk_log();
// What DPDK logged as errors since this was last called, within reason; empty if there is nothing.
[[nodiscard]] std::string take_dpdk_error();

}  // namespace tfabric::nic
