#include "host/xdp_program.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>

#include "base/descriptor.h"
#include "host/netlink.h"

namespace tfabric::host {
namespace {

using netlink::Bytes;
using netlink::find;
using netlink::read;

// Sizes are multiples of 4, to which the kernel aligns what follows each.
struct Request {
  nlmsghdr header;
  ifinfomsg link;
};

}  // namespace

std::uint32_t xdp_program_of(const std::string& interface) {
  const Descriptor kernel(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  Request request{};
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
  const Bytes message(answer.data(), static_cast<std::size_t>(length));
  if (read<nlmsghdr>(message).nlmsg_type != RTM_NEWLINK) {
    return 0;
  }
  return read<std::uint32_t>(find(find(message.subspan(sizeof request), IFLA_XDP), IFLA_XDP_PROG_ID));
}

}  // namespace tfabric::host
