#include "transport/tcp/rails/af_xdp_interface.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/address.h"
#include "config/config.h"
#include "transport/tcp/nic/device_arguments.h"

namespace tfabric::tcp {

static_assert(config::kMostAfXdpMtu == nic::kAfXdpMtu);

std::optional<InterfaceFault> af_xdp_mtu_fault(const host::Interface& interface) {
  if (interface.mtu <= config::kMostAfXdpMtu) {
    return std::nullopt;
  }
  return InterfaceFault{
      .what = fmt::format("the interface {} has an MTU of {}, and AF_XDP takes packets of {} bytes at most",
                          interface.name, interface.mtu, config::kMostAfXdpMtu),
      .fix = fmt::format("ip link set {} mtu {}", interface.name, config::kMostAfXdpMtu)};
}

namespace {

std::optional<InterfaceFault> part_fault(const host::Interface& interface, const config::QueueRange& queues,
                                         std::uint32_t engines) {
  if (queues.end() > interface.channels.combined) {
    return InterfaceFault{.what = fmt::format("the rail has queue {}, and the interface {} has {} in all",
                                              queues.end() - 1, interface.name, interface.channels.combined),
                          .fix = fmt::format("ethtool -L {} combined {}; or choose other queues",
                                             interface.name, queues.end())};
  }
  if (queues.count != engines) {
    return InterfaceFault{
        .what = fmt::format("the rail has {} queue(s) of the interface {}, and {} engine(s) (tcp.engines) "
                            "take one each",
                            queues.count, interface.name, engines),
        .fix = fmt::format("tcp.engines = {}, or as many queues as engines", queues.count)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<InterfaceFault> af_xdp_queue_fault(const host::Interface& interface, const config::Rail& rail,
                                                 std::uint32_t engines) {
  if (!rail.queues.whole()) {
    return part_fault(interface, rail.queues, engines);
  }
  const host::Channels& channels = interface.channels;
  if (channels.receiving() <= engines) {
    return std::nullopt;
  }
  const std::string what = fmt::format(
      "the interface {} receives by {} queues, and {} engine(s) (tcp.engines) take as many of them",
      interface.name, channels.receiving(), engines);
  // The driver takes pairs of queues; of an interface without any, the first receive queue.
  if (channels.combined == 0) {
    return InterfaceFault{.what = what, .fix = fmt::format("ethtool -L {} rx 1", interface.name)};
  }
  return InterfaceFault{.what = what,
                        .fix = fmt::format("ethtool -L {} combined {}{}; or tcp.engines = {}", interface.name,
                                           engines, channels.receive > 0 ? " rx 0" : "", channels.combined)};
}

std::optional<InterfaceFault> af_xdp_address_fault(const config::Rail& rail,
                                                   std::span<const host::LocalAddress> addresses) {
  for (const std::string& text : rail.addresses) {
    const auto own = config::parse_prefixed(text);
    if (!own) {
      continue;
    }
    const bool has_it = std::any_of(addresses.begin(), addresses.end(), [&](const auto& each) {
      return each.netdev == rail.device && each.address == config::mapped(own->bytes);
    });
    if (!has_it) {
      return InterfaceFault{.what = fmt::format("the interface {} does not have the address {}, which a rail "
                                                "with `queues` shares with the kernel",
                                                rail.device, text),
                            .fix = fmt::format("ip address add {} dev {}", text, rail.device)};
    }
  }
  return std::nullopt;
}

std::optional<InterfaceFault> af_xdp_port_fault(const config::PortRange& ports,
                                                const host::KernelPorts& kernel) {
  if (!kernel.may_give_of(ports)) {
    return std::nullopt;
  }
  return InterfaceFault{
      .what = fmt::format("the kernel gives TCP ports of {0}-{1} (tcp.local_ports) to connections of its "
                          "own, whose segments would come to this rail",
                          ports.first, ports.last),
      .fix = fmt::format("sysctl -w net.ipv4.ip_local_reserved_ports={}-{}, and in a file of /etc/sysctl.d",
                         ports.first, ports.last)};
}

}  // namespace tfabric::tcp
