// The RDMA transport: libibverbs, the ports of this host and their devices, from configuration to shutdown.
//
// Each port that is used (devices.h) is a device; NCCL spreads its channels over them, and may fuse them.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "config/config.h"
#include "transport/rdma/cm/library.h"
#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/verbs/verbs.h"
#include "transport/transport.h"

namespace tfabric::rdma {

// Errc::unusable with the reason and its fix if there is no libibverbs or no port to use.
Result<std::unique_ptr<transport::Transport>> open_transport(const config::Rdma& wishes);

// What is loaded at run time.
struct Libraries {
  Verbs verbs;
  std::optional<cm::Library> connection_manager;  // empty: rdma_cm is not wanted, or not there
};

// The same with what is looked at given, for tests.
Result<std::unique_ptr<transport::Transport>> open_transport(const Libraries& libraries, const Host& host,
                                                             const config::Rdma& wishes);

}  // namespace tfabric::rdma
