// The choice among the transports of this build, by configuration. The plugin and the tools call open() and
// know no transport by name.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "host/interfaces.h"
#include "transport/transport.h"
#include "transport/unconfigured.h"

namespace tfabric::transport {

// Returns true if TCP is used without looking for RDMA: a configuration that names NICs for TCP wants these
// used, even if the host has RDMA devices.
[[nodiscard]] bool prefers_tcp(const config::Config& config);

// Returns the configuration with those of its TCP rails alone that are used: where RDMA is, those that stand
// in for its ports.
[[nodiscard]] config::Config with_used_rails(config::Config config);

// Returns the configuration with the rails that this host has for it: with transport = "socket" they are not
// configured, but one for each interface that is offered (bootstrap/addresses.h). "auto+kernel" becomes that
// where no rail is configured and RDMA, which is looked at for nothing else, does not work, and "auto"
// elsewhere. Interfaces have their real names then, and kernel rails addresses.
using RdmaWorks = std::function<bool(const config::Config& config)>;
[[nodiscard]] config::Config with_rails_of(config::Config config, std::span<const host::Interface> interfaces,
                                           std::span<const host::LocalAddress> addresses,
                                           const RdmaWorks& rdma_works);

// Opens the transport that the configuration names ("auto", "auto+kernel", "tcp", "socket", "rdma"). On
// failure Errc::unusable and one message that says why each transport is not usable here and how to fix it.
Result<std::unique_ptr<Transport>> open(const config::Config& config, const Caller& caller = {});

}  // namespace tfabric::transport
