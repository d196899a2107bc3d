// The RDMA transport: libibverbs, the ports of this host and their devices, from configuration to shutdown.
//
// Each used port (discovery.h) is a device. NCCL spreads its channels over devices, and may fuse them.
#pragma once

#include <memory>

#include "base/result.h"
#include "config/config.h"
#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/verbs/verbs.h"
#include "transport/transport.h"

namespace tfabric::rdma {

// Fails with Errc::unusable, a reason and its fix if libibverbs is missing or no port can be used.
Result<std::unique_ptr<transport::Transport>> open_transport(const config::Config& config);

// As above, with the library that is loaded at run time and the host as arguments, for tests.
Result<std::unique_ptr<transport::Transport>> open_transport(const Verbs& verbs, const Host& host,
                                                             const config::Config& config);

}  // namespace tfabric::rdma
