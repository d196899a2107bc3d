#include "host/xdp_program.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "base/descriptor.h"

namespace tfabric::host {
namespace {

using Bytes = std::span<const std::byte>;

template <class T>
T read(Bytes bytes) {
  T value{};
  const Bytes part = bytes.first(std::min(sizeof value, bytes.size()));
  std::copy(part.begin(), part.end(), std::as_writable_bytes(std::span(&value, 1)).begin());
  return value;
}

// What the attribute of this type holds (rtnetlink(7)), of those in `attributes`; empty: it is not there.
Bytes find(Bytes attributes, unsigned short type) {
  while (attributes.size() >= sizeof(rtattr)) {
    const auto attribute = read<rtattr>(attributes);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > attributes.size()) {
      break;
    }
    if ((attribute.rta_type & NLA_TYPE_MASK) == type) {
      return attributes.first(attribute.rta_len).subspan(RTA_LENGTH(0));
    }
    attributes = attributes.subspan(std::min<std::size_t>(RTA_ALIGN(attribute.rta_len), attributes.size()));
  }
  return {};
}

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
