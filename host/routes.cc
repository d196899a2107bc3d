#include "host/routes.h"

#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "host/netlink.h"

namespace tfabric::host {

bool has_route(const std::string& interface, const config::IpBytes& from, const config::IpBytes& to) {
  constexpr std::size_t kV4At = 12;
  const std::size_t at = config::is_ipv4(to) ? kV4At : 0;
  const auto part = [at](const config::IpBytes& ip) { return std::as_bytes(std::span(ip).subspan(at)); };
  rtmsg route{};
  route.rtm_family = at == 0 ? AF_INET6 : AF_INET;
  route.rtm_dst_len = route.rtm_src_len = static_cast<std::uint8_t>(8 * part(to).size());
  route.rtm_flags = RTM_F_FIB_MATCH;  // the entry itself: without one, an error
  netlink::Request request(RTM_GETROUTE, NLM_F_REQUEST, route);
  request.add(RTA_DST, part(to));
  request.add(RTA_SRC, part(from));
  const std::uint32_t index = if_nametoindex(interface.c_str());
  request.add(RTA_OIF, std::as_bytes(std::span(&index, 1)));
  const int error = netlink::ask(std::move(request), [](const nlmsghdr&, netlink::Bytes) {});
  return error != EHOSTUNREACH && error != ENETUNREACH;
}

}  // namespace tfabric::host
