#include "host/interfaces.h"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>

#include "host/netlink.h"

namespace tfabric::host {
namespace {

// `data` is for requests whose argument does not fit into an ifreq.
std::optional<ifreq> ask(const Descriptor& any, const std::string& interface, unsigned long what,
                         void* data = nullptr) {
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = static_cast<char*>(data);
  return ioctl(any.get(), what, &request) == 0 ? std::optional(request) : std::nullopt;
}

// Copies an address or a mask into 16 bytes; the bits before an IPv4 mask are set. Returns false if the
// address is not an IP address.
bool copy_bytes(const sockaddr* address, bool mask, config::IpBytes& bytes) {
  if (address == nullptr) {
    return false;
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof(v6));
    std::memcpy(bytes.data(), &v6.sin6_addr, sizeof(v6.sin6_addr));
    return true;
  }
  if (address->sa_family != AF_INET) {
    return false;
  }
  sockaddr_in v4{};
  std::memcpy(&v4, address, sizeof(v4));
  bytes.fill(mask ? 0xff : 0);
  bytes[10] = bytes[11] = 0xff;
  std::memcpy(&bytes[12], &v4.sin_addr, sizeof(v4.sin_addr));
  return true;
}

unsigned leading_ones(const config::IpBytes& mask) {
  const auto end = std::find_if(mask.begin(), mask.end(), [](std::uint8_t byte) { return byte != 0xff; });
  const auto whole = static_cast<unsigned>(std::distance(mask.begin(), end)) * 8;
  return end == mask.end() ? whole : whole + static_cast<unsigned>(std::countl_one(*end));
}

// The kernel aligns each part of a message to 4 bytes; both of these sizes are multiples of it.
struct LinkRequest {
  nlmsghdr header;
  ifinfomsg link;
};

}  // namespace

InterfaceQuery::InterfaceQuery() : any_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

std::uint32_t InterfaceQuery::mtu(const std::string& interface) const {
  const auto answer = ask(any_, interface, SIOCGIFMTU);
  return answer ? static_cast<std::uint32_t>(answer->ifr_mtu) : 0;
}

std::optional<std::array<std::uint8_t, 6>> InterfaceQuery::mac(const std::string& interface) const {
  const auto answer = ask(any_, interface, SIOCGIFHWADDR);
  if (!answer) {
    return std::nullopt;
  }
  std::array<std::uint8_t, 6> bytes;
  std::memcpy(bytes.data(), answer->ifr_hwaddr.sa_data, bytes.size());
  return bytes;
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

std::uint32_t speed_mbps_of(const std::string& interface) {
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  if (!ask(any, interface, SIOCETHTOOL, &settings)) {
    return 0;
  }
  return known_speed(ethtool_cmd_speed(&settings));
}

std::uint32_t known_speed(std::int64_t reported) {
  const bool unknown = reported <= 0 || reported >= UINT32_MAX || reported == UINT16_MAX;
  return unknown ? 0 : static_cast<std::uint32_t>(reported);
}

std::uint32_t xdp_program_of(const std::string& interface) {
  const Descriptor kernel(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  LinkRequest request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.link.ifi_index = static_cast<int>(if_nametoindex(interface.c_str()));
  if (request.link.ifi_index == 0 || send(kernel.get(), &request, sizeof request, 0) < 0) {
    return 0;
  }
  std::array<std::byte, 32768> answer;
  const ssize_t length = recv(kernel.get(), answer.data(), answer.size(), 0);
  if (length < static_cast<ssize_t>(sizeof request)) {
    return 0;
  }
  const netlink::Bytes message(answer.data(), static_cast<std::size_t>(length));
  if (netlink::read<nlmsghdr>(message).nlmsg_type != RTM_NEWLINK) {
    return 0;
  }
  return netlink::read<std::uint32_t>(
      netlink::find(netlink::find(message.subspan(sizeof request), IFLA_XDP), IFLA_XDP_PROG_ID));
}

std::vector<LocalAddress> local_addresses() {
  std::vector<LocalAddress> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    return addresses;
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    LocalAddress local{.netdev = entry->ifa_name};
    constexpr unsigned kRunning = IFF_UP | IFF_RUNNING;
    local.running = (entry->ifa_flags & kRunning) == kRunning;
    config::IpBytes mask{};
    if (copy_bytes(entry->ifa_addr, /*mask=*/false, local.address)) {
      local.prefix_length = copy_bytes(entry->ifa_netmask, /*mask=*/true, mask) ? leading_ones(mask) : 128;
      addresses.push_back(std::move(local));
    }
  }
  return addresses;
}

}  // namespace tfabric::host
