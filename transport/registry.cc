#include "transport/registry.h"

#include <fmt/format.h>

#include "transport/rdma/rdma_transport.h"
#include "transport/tcp/tcp_transport.h"

namespace tfabric::transport {

Result<std::unique_ptr<Transport>> open(const config::Config& config) {
  // Who has named NICs for TCP wants them used, whatever RDMA devices the host shows besides.
  if (config.transport == "tcp" || (config.transport == "auto" && !config.tcp.rails.empty())) {
    return tcp::open_transport(config);
  }
  auto rdma = rdma::open_transport(config.rdma);
  if (rdma || config.transport == "rdma") {
    return rdma;
  }
  const auto tcp = tcp::open_transport(config);
  return Error{Errc::unusable, fmt::format("RDMA: {}; TCP: {}", rdma.error().message, tcp.error().message)};
}

}  // namespace tfabric::transport
