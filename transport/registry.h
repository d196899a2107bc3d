// Which transports this build has, and the choice among them by configuration.
//
// The one place where configuration meets the transports: the plugin and the tools call open() and know
// no transport by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "transport/transport.h"

namespace tfabric::transport {

// Whether TCP is taken, and RDMA not looked for: who has named NICs for TCP wants them used, whatever RDMA
// devices the host shows besides.
[[nodiscard]] bool prefers_tcp(const config::Config& config);

// Opens the transport that the configuration names ("auto", "tcp", "rdma"). On failure Errc::unusable
// and one message that says why each candidate is not usable here and how to fix it.
Result<std::unique_ptr<Transport>> open(const config::Config& config);

}  // namespace tfabric::transport
