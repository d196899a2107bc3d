#include "transport/tcp/rails/kernel_rail.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/interfaces.h"
#include "transport/bootstrap/addresses.h"
#include "transport/socket/socket_carrier.h"

namespace tfabric::tcp {
namespace {

// "10.0.0.5/24", of an address that is one of these.
std::string network_of(const net::IpAddress& address, const std::vector<host::LocalAddress>& addresses) {
  const auto found = std::find_if(addresses.begin(), addresses.end(), [&](const host::LocalAddress& local) {
    return net::from_octets(local.address) == address;
  });
  const unsigned mapped_bits = address.is_v4() ? 96 : 0;
  return fmt::format("{}/{}", net::to_string(address), found->prefix_length - mapped_bits);
}

}  // namespace

Result<net::IpAddress> kernel_address(const config::Rail& config,
                                      const std::vector<host::LocalAddress>& addresses) {
  std::vector<net::IpAddress> found;
  for (const host::LocalAddress& local : addresses) {
    if (const net::IpAddress address = net::from_octets(local.address);
        local.netdev == config.device && !address.is_link_local()) {
      found.push_back(address);
    }
  }
  const auto unusable = [](const std::string& what) { return Error{Errc::unusable, what}; };
  if (found.empty()) {
    return unusable(
        fmt::format("the interface {} does not exist in this network namespace, or has no IP address "
                    "(`ip address` lists them)",
                    config.device));
  }
  if (!config.addresses.empty()) {
    const auto wanted = net::parse_prefix(config.addresses.front());
    const auto same = std::find_if(found.begin(), found.end(), [&](const net::IpAddress& address) {
      return wanted && address == wanted->address;
    });
    return same != found.end() ? Result<net::IpAddress>(*same)
                               : unusable(fmt::format(
                                     "the interface {} has no address {}: leave `addresses` out, "
                                     "or name one that it has ({})",
                                     config.device, config.addresses.front(), net::to_string(found.front())));
  }
  const auto v4 =
      std::find_if(found.begin(), found.end(), [](const net::IpAddress& address) { return address.is_v4(); });
  return v4 != found.end() ? *v4 : found.front();
}

std::vector<config::Rail> kernel_rails(const config::Rdma& wishes,
                                       const std::vector<host::LocalAddress>& addresses) {
  std::vector<config::Rail> rails;
  for (const host::LocalAddress& local : bootstrap::selected_addresses(addresses, wishes)) {
    const bool known = std::any_of(rails.begin(), rails.end(),
                                   [&](const config::Rail& rail) { return rail.device == local.netdev; });
    if (!known) {
      rails.push_back({.name = local.netdev, .kind = config::RailKind::kernel, .device = local.netdev});
    }
  }
  return rails;
}

Error no_rails(const config::Config& config, const std::vector<host::LocalAddress>& addresses) {
  if (config.transport == "socket") {
    return {Errc::unusable, bootstrap::nothing_selected(addresses, config.rdma)};
  }
  return {Errc::unusable,
          "no TCP rail is configured: name the host's NICs under [[tcp.rails]] in "
          "/usr/local/tfabric/tools/config/tfabric.toml, or in TFABRIC_TCP_RAILS"};
}

KernelRail::KernelRail(const config::Rail& config, const net::IpAddress& address, std::uint32_t mtu,
                       socket::SocketCarrier* carrier)
    : Rail(config), address_(address), mtu_(mtu), carrier_(carrier) {}

std::uint16_t KernelRail::kernel_port() const { return carrier_->port(); }

Result<Route> KernelRail::route_to(const net::IpAddress& peer, std::uint64_t /*peer_process*/) {
  return Route{.carrier = carrier_, .remote = peer};
}

Result<std::vector<std::unique_ptr<Rail>>> KernelRail::open(const config::Rail& config,
                                                            std::span<engine::Engine* const> engines,
                                                            const socket::SocketLimits& limits) {
  const std::vector<host::LocalAddress> local = host::local_addresses();
  const Result<net::IpAddress> address = kernel_address(config, local);
  if (!address) {
    return Error{address.error().code, fmt::format("rail {}: {}", config.name, address.error().message)};
  }
  config::Rail own = config;
  own.addresses = {network_of(*address, local)};
  std::vector<std::unique_ptr<Rail>> rails;
  for (engine::Engine* engine : engines) {
    auto carrier = socket::SocketCarrier::open(*engine, {.rail = config.name,
                                                         .interface = config.device,
                                                         .addresses = {*address},
                                                         .announces = rails.empty(),
                                                         .limits = limits});
    if (!carrier) {
      return carrier.error();
    }
    rails.push_back(
        std::unique_ptr<Rail>(new KernelRail(own, *address, effective_mtu(config), carrier->get())));
    const std::lock_guard guard(engine->lock());
    engine->add_carrier(std::move(*carrier));
  }
  return rails;
}

}  // namespace tfabric::tcp
