#include "transport/tcp/af_xdp_interface.h"

#include <fmt/format.h>

#include "config/config.h"
#include "transport/tcp/port/device_arguments.h"

namespace tfabric::tcp {

static_assert(config::kMostAfXdpMtu == port::kAfXdpMtu);

std::optional<InterfaceFault> af_xdp_mtu_fault(const host::Interface& interface) {
  if (interface.mtu <= config::kMostAfXdpMtu) {
    return std::nullopt;
  }
  return InterfaceFault{
      .what = fmt::format("the interface {} has an MTU of {}, and AF_XDP takes packets of {} bytes at most",
                          interface.name, interface.mtu, config::kMostAfXdpMtu),
      .mend = fmt::format("ip link set {} mtu {}", interface.name, config::kMostAfXdpMtu)};
}

std::optional<InterfaceFault> af_xdp_queue_fault(const host::Interface& interface, std::uint32_t engines) {
  const host::Channels& channels = interface.channels;
  if (channels.receiving() <= engines) {
    return std::nullopt;
  }
  const std::string what = fmt::format(
      "the interface {} receives by {} queues, and {} engine(s) (tcp.engines) take as many of them",
      interface.name, channels.receiving(), engines);
  // The driver takes pairs of queues; of an interface without any, the first receive queue.
  if (channels.combined == 0) {
    return InterfaceFault{.what = what, .mend = fmt::format("ethtool -L {} rx 1", interface.name)};
  }
  return InterfaceFault{
      .what = what,
      .mend = fmt::format("ethtool -L {} combined {}{}; or tcp.engines = {}", interface.name, engines,
                          channels.receive > 0 ? " rx 0" : "", channels.combined)};
}

}  // namespace tfabric::tcp
