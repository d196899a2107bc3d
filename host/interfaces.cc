#include "host/interfaces.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <memory>

#include "base/descriptor.h"

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
    interfaces.push_back(std::move(interface));
  }
  return interfaces;
}

}  // namespace tfabric::host
