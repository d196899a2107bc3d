#include "transport/registry.h"

#include <fmt/format.h>

#include "transport/tcp/tcp_transport.h"

namespace tfabric::transport {

Result<std::unique_ptr<Transport>> open(const config::Config& config) {
  if (config.transport == "rdma") {
    return Error{Errc::unusable,
                 "transport = \"rdma\" is configured, and this build has no RDMA transport yet: set "
                 "transport to \"tcp\" or \"auto\""};
  }
  return tcp::open_transport(config);
}

}  // namespace tfabric::transport
