// The RDMA transport: the ports of this host as devices whose comms have queue pairs and, beside them, a
// connection of the kernel's, from configuration to shutdown.
//
// Each used port (discovery.h), or several as one (rdma.bond), is a device, with an engine of its own. NCCL
// spreads its channels over devices, and may fuse them.
#pragma once

#include <memory>

#include "base/result.h"
#include "config/config.h"
#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/verbs/verbs.h"
#include "transport/transport.h"

namespace tfabric::device {

// Fails with Errc::unusable, a reason and its fix if libibverbs is missing, or no port, or none of the
// kernel's interfaces, can be used.
Result<std::unique_ptr<transport::Transport>> open_rdma(const config::Config& config);

// As above, with the library that is loaded at run time and the host as arguments, for tests.
Result<std::unique_ptr<transport::Transport>> open_rdma(const rdma::Verbs& verbs, const rdma::Host& host,
                                                        const config::Config& config);

}  // namespace tfabric::device
