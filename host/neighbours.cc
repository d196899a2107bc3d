#include "host/neighbours.h"

#include <fmt/format.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "host/netlink.h"

namespace tfabric::host {
namespace {

constexpr std::size_t kV4At = 12;

bool is_v4(const config::IpBytes& address) {
  const std::array<std::uint8_t, 4> v4{address[12], address[13], address[14], address[15]};
  return address == config::mapped(v4);
}

// A message about one neighbour.
struct Request {
  nlmsghdr header{};
  ndmsg neighbour{};
  std::array<std::byte, RTA_SPACE(sizeof(config::IpBytes))> destination{};

  Request(std::uint16_t type, int interface, const config::IpBytes& address) {
    const std::size_t at = is_v4(address) ? kV4At : 0;
    const std::size_t size = address.size() - at;
    header.nlmsg_type = type;
    header.nlmsg_flags = NLM_F_REQUEST;
    header.nlmsg_len = static_cast<std::uint32_t>(offsetof(Request, destination) + RTA_LENGTH(size));
    neighbour.ndm_family = at == 0 ? AF_INET6 : AF_INET;
    neighbour.ndm_ifindex = interface;
    const rtattr attribute{.rta_len = static_cast<std::uint16_t>(RTA_LENGTH(size)), .rta_type = NDA_DST};
    std::memcpy(destination.data(), &attribute, sizeof attribute);
    std::memcpy(destination.data() + RTA_LENGTH(0), address.data() + at, size);
  }
};
static_assert(offsetof(Request, destination) == NLMSG_SPACE(sizeof(ndmsg)));

using Answer = Neighbours::Answer;

Answer answer_of(netlink::Bytes message) {
  constexpr std::size_t kAttributes = NLMSG_SPACE(sizeof(ndmsg));
  if (message.size() < kAttributes) {
    return {};
  }
  const auto neighbour = netlink::read<ndmsg>(message.subspan(NLMSG_HDRLEN));
  if ((neighbour.ndm_state & NUD_INCOMPLETE) != 0) {
    return {.kind = Answer::Kind::pending};
  }
  constexpr unsigned kFixed = NUD_PERMANENT | NUD_NOARP, kConfirmed = kFixed | NUD_REACHABLE;
  constexpr unsigned kValid = kConfirmed | NUD_PROBE | NUD_STALE | NUD_DELAY;
  const netlink::Bytes mac = netlink::find(message.subspan(kAttributes), NDA_LLADDR);
  if ((neighbour.ndm_state & kValid) == 0 || mac.size() != sizeof(Answer::mac)) {
    return {};
  }
  return {.kind = Answer::Kind::known,
          .confirmed = (neighbour.ndm_state & kConfirmed) != 0,
          .fixed = (neighbour.ndm_state & kFixed) != 0,
          .mac = netlink::read<decltype(Answer::mac)>(mac)};
}

Status change(const Descriptor& socket, Request& request) {
  // The kernel handles the request before send() returns, and answers only if it failed.
  if (send(socket.get(), &request, request.header.nlmsg_len, 0) < 0) {
    return Error{Errc::system,
                 fmt::format("cannot send a neighbour request to the kernel: {}", std::strerror(errno))};
  }
  std::array<std::byte, NLMSG_SPACE(sizeof(nlmsgerr)) + sizeof request> reply{};
  const ssize_t size = recv(socket.get(), reply.data(), reply.size(), 0);
  if (size < static_cast<ssize_t>(NLMSG_SPACE(sizeof(int)))) {
    return {};
  }
  const netlink::Bytes message(reply.data(), static_cast<std::size_t>(size));
  const auto header = netlink::read<nlmsghdr>(message);
  const auto error = netlink::read<nlmsgerr>(message.subspan(NLMSG_HDRLEN)).error;
  if (header.nlmsg_type == NLMSG_ERROR && header.nlmsg_seq == request.header.nlmsg_seq && error != 0) {
    return Error{Errc::system,
                 fmt::format("the kernel refused to ask for a neighbour: {}", std::strerror(-error))};
  }
  return {};
}

}  // namespace

Result<Neighbours> Neighbours::open(const std::string& interface) {
  const unsigned index = if_nametoindex(interface.c_str());
  if (index == 0) {
    return Error{Errc::unusable,
                 fmt::format("there is no interface {} in this network namespace", interface)};
  }
  Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (socket.get() < 0) {
    return Error{Errc::system, fmt::format("cannot open a netlink socket for the neighbours of {}: {}",
                                           interface, std::strerror(errno))};
  }
  return Neighbours(std::move(socket), static_cast<int>(index));
}

Status Neighbours::resolve(const config::IpBytes& address) {
  Request request(RTM_NEWNEIGH, interface_, address);
  request.header.nlmsg_seq = ++sequence_;
  request.header.nlmsg_flags |= NLM_F_CREATE;
  request.neighbour.ndm_flags = NTF_USE;  // resolve it as if a packet were sent to it
  return change(socket_, request);
}

Status Neighbours::verify(const config::IpBytes& address) {
  if (find(address).fixed) {
    return {};  // the new state would replace the administrator's
  }
  Request request(RTM_NEWNEIGH, interface_, address);
  request.header.nlmsg_seq = ++sequence_;
  request.neighbour.ndm_state = NUD_PROBE;
  return change(socket_, request);
}

Answer Neighbours::find(const config::IpBytes& address) {
  Request request(RTM_GETNEIGH, interface_, address);
  request.header.nlmsg_seq = ++sequence_;
  if (send(socket_.get(), &request, request.header.nlmsg_len, 0) < 0) {
    return {};
  }
  // Skip late answers to earlier requests.
  constexpr std::size_t kMost = 1024;
  std::array<std::byte, kMost> reply{};
  for (;;) {
    const ssize_t size = recv(socket_.get(), reply.data(), reply.size(), 0);
    if (size < static_cast<ssize_t>(sizeof(nlmsghdr))) {
      return {};
    }
    const netlink::Bytes message(reply.data(), static_cast<std::size_t>(size));
    const auto header = netlink::read<nlmsghdr>(message);
    if (header.nlmsg_seq == sequence_) {
      return header.nlmsg_type == RTM_NEWNEIGH ? answer_of(message) : Answer{};
    }
  }
}

}  // namespace tfabric::host
