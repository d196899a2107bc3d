// The TCP transport: DPDK, the engine, the rails and their devices, from configuration to shutdown.
#pragma once

#include <memory>

#include "base/result.h"
#include "config/config.h"
#include "transport/transport.h"

namespace tfabric::device {

// Errc::unusable, with the reason and its fix, if no rail is configured or one cannot be opened.
Result<std::unique_ptr<transport::Transport>> open_transport(const config::Config& config);

}  // namespace tfabric::device
