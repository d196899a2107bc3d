#include "transport/registry.h"

#include <fmt/format.h>

#include "base/log.h"
#include "transport/rdma/rdma_transport.h"
#include "transport/tcp/rails/kernel_rail.h"
#include "transport/tcp/tcp_transport.h"

namespace tfabric::transport {

bool prefers_tcp(const config::Config& config) {
  return config.transport == "tcp" || config.transport == "socket" ||
         (config.transport == "auto" && !config.tcp.rails.empty());
}

config::Config with_rails_of(config::Config config, const std::vector<host::LocalAddress>& addresses) {
  if (config.transport == "socket") {
    config.tcp.rails = tcp::kernel_rails(config.rdma, addresses);
  }
  return config;
}

Result<std::unique_ptr<Transport>> open(const config::Config& given) {
  const config::Config config = with_rails_of(given, host::local_addresses());
  if (!config.rehearsal.empty()) {
    TF_WARN("NET/tfabric: {}", config.rehearsal);
  }
  if (prefers_tcp(config)) {
    return tcp::open_transport(config);
  }
  auto rdma = rdma::open_transport(config);
  if (rdma || config.transport == "rdma") {
    return rdma;
  }
  const auto tcp = tcp::open_transport(config);
  return Error{Errc::unusable, fmt::format("RDMA: {}; TCP: {}", rdma.error().message, tcp.error().message)};
}

}  // namespace tfabric::transport
