#include "host/interfaces.h"

#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

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

struct Link {
  Interface interface;
  bool running = false;
  bool leads = true;
};

std::string text_in(netlink::Bytes attribute) {
  std::string text;
  for (const std::byte byte : attribute) {
    if (byte == std::byte{0}) {
      break;
    }
    text.push_back(static_cast<char>(byte));
  }
  return text;
}

std::vector<std::string> alternative_names(netlink::Bytes properties) {
  std::vector<std::string> names;
  for (const netlink::Bytes name : netlink::find_all(properties, IFLA_ALT_IFNAME)) {
    names.push_back(text_in(name));
  }
  return names;
}

Link link_in(netlink::Bytes message) {
  constexpr std::size_t kAttributes = NLMSG_SPACE(sizeof(ifinfomsg));
  const auto info = netlink::read<ifinfomsg>(message.subspan(NLMSG_HDRLEN));
  const netlink::Bytes attributes = message.subspan(std::min(kAttributes, message.size()));
  Link link;
  Interface& interface = link.interface;
  interface.name = text_in(netlink::find(attributes, IFLA_IFNAME));
  interface.up = (info.ifi_flags & IFF_UP) != 0;
  interface.has_link = (info.ifi_flags & IFF_RUNNING) != 0;
  interface.mtu = netlink::read<std::uint32_t>(netlink::find(attributes, IFLA_MTU));
  interface.xdp_program =
      netlink::read<std::uint32_t>(netlink::find(netlink::find(attributes, IFLA_XDP), IFLA_XDP_PROG_ID));
  interface.ethernet = info.ifi_type == ARPHRD_ETHER;
  interface.other_names = alternative_names(netlink::find(attributes, IFLA_PROP_LIST));
  const std::string kind = text_in(netlink::find(netlink::find(attributes, IFLA_LINKINFO), IFLA_INFO_KIND));
  link.running = interface.up && interface.has_link;
  link.leads = (info.ifi_flags & IFF_LOOPBACK) == 0 && kind != "dummy";
  return link;
}

// By number. Empty if the kernel does not answer.
std::map<int, Link> links() {
  std::map<int, Link> links;
  const netlink::Request request(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, ifinfomsg{});
  netlink::ask(request, [&](const nlmsghdr& header, netlink::Bytes message) {
    if (header.nlmsg_type == RTM_NEWLINK) {
      links[netlink::read<ifinfomsg>(message.subspan(NLMSG_HDRLEN)).ifi_index] = link_in(message);
    }
  });
  return links;
}

AddressState state_of(bool v4, std::uint32_t flags) {
  if (v4) {
    return (flags & IFA_F_DEPRECATED) != 0 ? AddressState::deprecated : AddressState::stable;
  }
  if ((flags & IFA_F_DADFAILED) != 0) {
    return AddressState::failed;
  }
  if ((flags & IFA_F_TENTATIVE) != 0 && (flags & IFA_F_OPTIMISTIC) == 0) {
    return AddressState::tentative;
  }
  if ((flags & IFA_F_DEPRECATED) != 0) {
    return AddressState::deprecated;
  }
  return (flags & IFA_F_TEMPORARY) != 0 ? AddressState::temporary : AddressState::stable;
}

// Returns nothing if it is no IP address.
std::optional<LocalAddress> address_in(const ifaddrmsg& info, netlink::Bytes attributes, const Link& link) {
  netlink::Bytes bytes =
      netlink::find(attributes, IFA_LOCAL);  // of a wire with two ends, the other is the peer's
  bytes = bytes.empty() ? netlink::find(attributes, IFA_ADDRESS) : bytes;
  const bool v4 = info.ifa_family == AF_INET;
  if ((!v4 && info.ifa_family != AF_INET6) || bytes.size() != (v4 ? 4u : 16u)) {
    return std::nullopt;
  }
  constexpr unsigned kMappedBits = 96;
  std::array<std::uint8_t, 16> octets{};
  std::memcpy(octets.data(), bytes.data(), bytes.size());
  const netlink::Bytes flags = netlink::find(attributes, IFA_FLAGS);
  return LocalAddress{
      .netdev = link.interface.name,
      .address = config::mapped(std::span(octets).first(bytes.size())),
      .prefix_length = info.ifa_prefixlen + (v4 ? kMappedBits : 0),
      .running = link.running,
      .up = link.interface.up,
      .leads = link.leads,
      .state = state_of(v4, flags.empty() ? info.ifa_flags : netlink::read<std::uint32_t>(flags)),
      .other_names = link.interface.other_names};
}

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
  const InterfaceQuery query;
  for (auto& [index, link] : links()) {
    Interface& interface = interfaces.emplace_back(std::move(link.interface));
    interface.has_link = interface.has_link || query.has_carrier(interface.name);
    interface.channels = channels_of(interface.name);
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
  ifinfomsg info{};
  info.ifi_index = static_cast<int>(if_nametoindex(interface.c_str()));
  std::uint32_t program = 0;
  netlink::ask(netlink::Request(RTM_GETLINK, NLM_F_REQUEST, info),
               [&](const nlmsghdr& header, netlink::Bytes message) {
                 program = header.nlmsg_type == RTM_NEWLINK ? link_in(message).interface.xdp_program : 0;
               });
  return program;
}

std::vector<LocalAddress> local_addresses() {
  const std::map<int, Link> known = links();
  std::map<int, std::vector<LocalAddress>> by_interface;  // the kernel lists those of one family first
  const netlink::Request request(RTM_GETADDR, NLM_F_REQUEST | NLM_F_DUMP, ifaddrmsg{});
  netlink::ask(request, [&](const nlmsghdr& header, netlink::Bytes message) {
    constexpr std::size_t kAttributes = NLMSG_SPACE(sizeof(ifaddrmsg));
    const auto info = netlink::read<ifaddrmsg>(message.subspan(NLMSG_HDRLEN));
    const auto link = known.find(static_cast<int>(info.ifa_index));
    if (header.nlmsg_type != RTM_NEWADDR || link == known.end()) {
      return;
    }
    if (auto address =
            address_in(info, message.subspan(std::min(kAttributes, message.size())), link->second)) {
      by_interface[link->first].push_back(std::move(*address));
    }
  });
  std::vector<LocalAddress> addresses;
  for (auto& [index, own] : by_interface) {
    std::move(own.begin(), own.end(), std::back_inserter(addresses));
  }
  return addresses;
}

std::string real_name(std::span<const Interface> interfaces, const std::string& name) {
  const auto found = std::find_if(interfaces.begin(), interfaces.end(), [&](const Interface& interface) {
    const auto& others = interface.other_names;
    return interface.name == name || std::find(others.begin(), others.end(), name) != others.end();
  });
  return found == interfaces.end() ? name : found->name;
}

}  // namespace tfabric::host
