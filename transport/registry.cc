#include "transport/registry.h"

#include <fmt/format.h>

#include "base/log.h"
#include "transport/bootstrap/addresses.h"
#include "transport/device/rdma_transport.h"
#include "transport/device/tcp_transport.h"
#include "transport/rails/kernel_rail.h"

namespace tfabric::transport {
namespace {

std::vector<std::string> kernel_interfaces(const config::Config& config) {
  std::vector<std::string> names;
  for (const config::Rail& rail : config.tcp.rails) {
    if (config.transport != "socket" && config::is_kernel_stack(rail)) {
      names.push_back(rail.device);
    }
  }
  return names;
}

}  // namespace

bool prefers_tcp(const config::Config& config) {
  return config.transport == "tcp" || config.transport == "socket" ||
         (config.transport == "auto" && !config.tcp.rails.empty());
}

config::Config with_used_rails(config::Config config) {
  if (!prefers_tcp(config)) {
    config.tcp.rails = config::stand_ins_for_ports(config.tcp);
  }
  return config;
}

config::Config with_rails_of(config::Config config, std::span<const host::Interface> interfaces,
                             std::span<const host::LocalAddress> addresses, const RdmaWorks& rdma_works) {
  if (config.transport == "auto+kernel") {
    config.transport = config.tcp.rails.empty() && !rdma_works(config) ? "socket" : "auto";
  }
  if (config.transport == "socket") {
    config.tcp.rails = rails::kernel_rails(config.rdma, addresses);
  }
  for (config::Rail& rail : config.tcp.rails) {
    if (config::is_kernel_interface(rail)) {
      rail.device = host::real_name(interfaces, rail.device);
    }
  }
  rails::address_kernel_rails(config, addresses);
  return config;
}

Result<std::unique_ptr<Transport>> open(const config::Config& given, const Caller& caller) {
  const auto addresses = bootstrap::settled_addresses(kernel_interfaces(given), given.rdma);
  Result<std::unique_ptr<Transport>> rdma = std::unique_ptr<Transport>();
  const auto rdma_works = [&rdma](const config::Config& wanted) {
    rdma = device::open_rdma(wanted);
    return rdma.ok();
  };
  const config::Config config = with_rails_of(given, host::interfaces(), addresses, rdma_works);
  if (!rdma) {
    TF_INFO(
        "NET/tfabric: transport = \"auto+kernel\": the kernel's TCP is used, since RDMA is not usable: {}",
        rdma.error().message);
  }
  const std::size_t left_out = bootstrap::offer(addresses, config.rdma).left_out;
  if (config.transport == "socket" && left_out > 0) {
    TF_INFO(
        "NET/tfabric: {} interfaces are used, and {} more are not: NCCL_SOCKET_IFNAME says which are meant",
        config.tcp.rails.size(), left_out);
  }
  if (!config.rehearsal.empty()) {
    TF_WARN("NET/tfabric: {}", config.rehearsal);
  }
  if (prefers_tcp(config)) {
    return device::open_transport(config);
  }
  if (rdma && *rdma == nullptr) {
    rdma = device::open_rdma(config);
  }
  if (rdma || config.transport == "rdma") {
    return rdma;
  }
  const auto tcp = device::open_transport(config);
  const Unconfigured host =
      unconfigured(config, host::Sysfs(), addresses, config::whole_environment(), caller);
  return Error{Errc::unusable, fmt::format("RDMA: {}; TCP: {}; {}", rdma.error().message, tcp.error().message,
                                           what_instead(host))};
}

}  // namespace tfabric::transport
