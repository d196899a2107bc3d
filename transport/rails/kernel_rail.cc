#include "transport/rails/kernel_rail.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "host/interfaces.h"
#include "transport/bootstrap/addresses.h"
#include "transport/rails/rail_kinds.h"
#include "transport/socket/socket_carrier.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::rails {
namespace {

net::Prefix prefix_of(const host::LocalAddress& local) {
  constexpr unsigned kMappedBits = 96;
  const net::IpAddress address = net::from_octets(local.address);
  return {address, static_cast<int>(address.is_v4() ? std::max(local.prefix_length, kMappedBits) - kMappedBits
                                                    : local.prefix_length)};
}

config::Rail kernel_rail(const std::string& interface, const std::vector<host::LocalAddress>& addresses) {
  config::Rail rail{.name = interface, .kind = config::RailKind::kernel, .device = interface};
  for (const host::LocalAddress& local : addresses) {
    rail.addresses.push_back(net::to_string(prefix_of(local)));
  }
  return rail;
}

// The kernel's connections wait no longer than our own.
socket::SocketLimits limits_like(const stack::Options& tcp) {
  return {.connect_timeout = tcp.connect_timeout,
          .user_timeout = tcp.user_timeout,
          .keepalive_idle = tcp.keepalive_idle,
          .send_buffer = tcp.send_buffer};
}

}  // namespace

Result<std::vector<net::Prefix>> kernel_networks(const config::Rail& config,
                                                 std::span<const host::LocalAddress> addresses) {
  const auto unusable = [](const std::string& what) { return Error{Errc::unusable, what}; };
  std::vector<net::Prefix> own, networks;
  for (const host::LocalAddress& local : addresses) {
    if (local.netdev == config.device) {
      own.push_back(prefix_of(local));
    }
  }
  if (own.empty() || config.addresses.empty()) {
    return unusable(
        fmt::format("the interface {} does not exist in this network namespace, or has no IP address that "
                    "peers can connect to (`ip address` lists them)",
                    config.device));
  }
  for (const std::string& text : config.addresses) {
    const auto wanted = net::parse_prefix(text);
    const auto same = std::find_if(own.begin(), own.end(), [&](const net::Prefix& each) {
      return wanted && each.address == wanted->address;
    });
    if (same == own.end()) {
      return unusable(fmt::format(
          "the interface {} has no address {}: leave `addresses` out, or name one that it has ({})",
          config.device, text, net::to_string(own.front().address)));
    }
    networks.push_back(*same);
  }
  return networks;
}

void address_kernel_rails(config::Config& config, std::span<const host::LocalAddress> addresses) {
  for (config::Rail& rail : config.tcp.rails) {
    if (config::is_kernel_stack(rail) && rail.addresses.empty()) {
      rail.addresses =
          kernel_rail(rail.device, bootstrap::addresses_of(addresses, rail.device, config.rdma)).addresses;
    }
  }
}

std::vector<config::Rail> kernel_rails(const config::Rdma& wishes,
                                       std::span<const host::LocalAddress> addresses) {
  std::vector<config::Rail> rails;
  for (const bootstrap::OfferedInterface& interface : bootstrap::offer(addresses, wishes).interfaces) {
    rails.push_back(kernel_rail(interface.name, interface.addresses));
  }
  return rails;
}

Error no_rails(const config::Config& config, const std::vector<host::LocalAddress>& addresses) {
  if (config.transport == "socket") {
    return {Errc::unusable, bootstrap::nothing_offered(addresses, config.rdma)};
  }
  return {Errc::unusable,
          "no TCP rail is configured: name the host's NICs under [[tcp.rails]] in "
          "/usr/local/tfabric/tools/config/tfabric.toml, or in TFABRIC_TCP_RAILS"};
}

KernelRail::KernelRail(const config::Rail& config, const net::IpAddress& address, std::uint32_t mtu,
                       socket::SocketCarrier* carrier)
    : Rail(config), address_(address), mtu_(mtu), carrier_(carrier) {}

std::uint16_t KernelRail::listening_port() const { return carrier_->port(); }

void KernelRail::stand_beside() { carrier_->stand_beside(); }

Result<Way> KernelRail::way_to(const net::IpAddress& peer, std::uint64_t /*peer_process*/) {
  return Way{.carrier = carrier_, .remote = peer};
}

OpenedRail KernelRail::open(const config::Rail& config, std::span<link::Tcp* const> engines,
                            const link::PortMap& /*ports*/, bool /*announce*/) {
  const std::vector<host::LocalAddress> local = host::local_addresses();
  const auto networks = kernel_networks(config, local);
  if (!networks) {
    return Error{networks.error().code, fmt::format("rail {}: {}", config.name, networks.error().message)};
  }
  config::Rail own = config;  // with the networks as the kernel has them
  own.addresses.clear();
  std::vector<net::IpAddress> addresses;
  for (const net::Prefix& network : *networks) {
    own.addresses.push_back(net::to_string(network));
    addresses.push_back(network.address);
  }
  const bool leads = std::none_of(local.begin(), local.end(), [&](const host::LocalAddress& each) {
    return each.netdev == config.device && !each.leads;
  });
  std::vector<host::LocalAddress> sisters;
  std::copy_if(local.begin(), local.end(), std::back_inserter(sisters), [&](const host::LocalAddress& each) {
    const net::IpAddress address = net::from_octets(each.address);
    return leads && each.leads && each.netdev != config.device && address.is_v4() &&
           std::any_of(networks->begin(), networks->end(),
                       [&](const net::Prefix& network) { return network.contains(address); });
  });
  const socket::SocketLimits limits = limits_like(engines.front()->options());
  std::vector<std::unique_ptr<Rail>> rails;
  for (link::Tcp* tcp : engines) {
    auto carrier = socket::SocketCarrier::make(tcp->engine(), {.rail = config.name,
                                                               .interface = config.device,
                                                               .addresses = addresses,
                                                               .leads = leads,
                                                               .sisters = sisters,
                                                               .announces = rails.empty(),
                                                               .limits = limits});
    if (!carrier) {
      return carrier.error();
    }
    rails.push_back(
        std::unique_ptr<Rail>(new KernelRail(own, addresses.front(), effective_mtu(config), carrier->get())));
    const engine::Guard guard(tcp->engine().lock());
    tcp->engine().add(std::move(*carrier));
  }
  return rails;
}

}  // namespace tfabric::rails
