// DPDK's log, led into the project's.
#pragma once

#include <string>

namespace tfabric::port {

// From now on what DPDK says goes to base/log.h at TRACE, and nothing to stdout or stderr.
void capture_dpdk_log();
// The last line DPDK logged as an error since this was last called; empty if there is none.
[[nodiscard]] std::string take_dpdk_error();

}  // namespace tfabric::port
