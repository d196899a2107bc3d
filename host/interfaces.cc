#include "host/interfaces.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <memory>
#include <optional>

#include "host/xdp_program.h"

namespace tfabric::host {

namespace {

// `data`: of the requests that have more than fits into an ifreq.
std::optional<ifreq> ask(const Descriptor& any, const std::string& interface, unsigned long what,
                         void* data = nullptr) {
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = static_cast<char*>(data);
  return ioctl(any.get(), what, &request) == 0 ? std::optional(request) : std::nullopt;
}

}  // namespace

InterfaceQuery::InterfaceQuery() : any_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

std::uint32_t InterfaceQuery::mtu(const std::string& interface) const {
  const auto answer = ask(any_, interface, SIOCGIFMTU);
  return answer ? static_cast<std::uint32_t>(answer->ifr_mtu) : 0;
}

InterfaceQuery::State InterfaceQuery::state(const std::string& interface) const {
  const auto answer = ask(any_, interface, SIOCGIFFLAGS);
  return {.up = answer && (answer->ifr_flags & IFF_UP) != 0,
          .has_link = answer && (answer->ifr_flags & IFF_RUNNING) != 0};
}

bool InterfaceQuery::has_carrier(const std::string& interface) const {
  ethtool_value link{};
  link.cmd = ETHTOOL_GLINK;
  return ask(any_, interface, SIOCETHTOOL, &link) && link.data != 0;
}

std::vector<Interface> interfaces() {
  std::vector<Interface> interfaces;
  const std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> names(if_nameindex(),
                                                                                if_freenameindex);
  const InterfaceQuery query;
  for (const struct if_nameindex* entry = names.get(); entry != nullptr && entry->if_name != nullptr;
       ++entry) {
    const std::string name = entry->if_name;
    const InterfaceQuery::State state = query.state(name);
    interfaces.push_back({.name = name,
                          .up = state.up,
                          .has_link = state.has_link || query.has_carrier(name),
                          .mtu = query.mtu(name),
                          .channels = channels_of(name),
                          .xdp_program = xdp_program_of(name)});
  }
  return interfaces;
}

Channels channels_of(const std::string& interface) {
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  if (!ask(any, interface, SIOCETHTOOL, &channels) || channels.combined_count + channels.rx_count == 0) {
    return {};
  }
  return {.combined = channels.combined_count, .receive = channels.rx_count};
}

}  // namespace tfabric::host
