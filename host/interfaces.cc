#include "host/interfaces.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <memory>

#include "base/descriptor.h"
#include "host/xdp_program.h"

namespace tfabric::host {

std::vector<Interface> interfaces() {
  std::vector<Interface> interfaces;
  const std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> names(if_nameindex(),
                                                                                if_freenameindex);
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const struct if_nameindex* entry = names.get(); entry != nullptr && entry->if_name != nullptr;
       ++entry) {
    Interface interface { .name = entry->if_name };
    ifreq request{};
    interface.name.copy(request.ifr_name, IFNAMSIZ - 1);
    const bool known = ioctl(any.get(), SIOCGIFFLAGS, &request) == 0;
    interface.up = known && (request.ifr_flags & IFF_UP) != 0;
    interface.has_link = known && (request.ifr_flags & IFF_RUNNING) != 0;
    interface.mtu =
        ioctl(any.get(), SIOCGIFMTU, &request) == 0 ? static_cast<std::uint32_t>(request.ifr_mtu) : 0u;
    interface.channels = channels_of(interface.name);
    interface.xdp_program = xdp_program_of(interface.name);
    interfaces.push_back(std::move(interface));
  }
  return interfaces;
}

Channels channels_of(const std::string& interface) {
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&channels);
  if (ioctl(any.get(), SIOCETHTOOL, &request) != 0 || channels.combined_count + channels.rx_count == 0) {
    return {};
  }
  return {.combined = channels.combined_count, .receive = channels.rx_count};
}

}  // namespace tfabric::host
