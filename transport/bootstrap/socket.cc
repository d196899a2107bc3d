#include "transport/bootstrap/socket.h"

#include <fmt/format.h>
#include <net/if.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace tfabric::bootstrap {
namespace {

Error system_error(const std::string& what, int error) {
  return {Errc::system, fmt::format("{}: {}", what, std::generic_category().message(error))};
}

Result<PrivateDescriptor> open_socket(int family, const std::string& purpose) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) {
    return system_error(purpose, errno);
  }
  return PrivateDescriptor(std::move(socket));
}

// Returns the address to bind to. The unspecified IPv6 address covers all of the host's addresses, IPv4
// included.
SocketAddress local_end(std::span<const config::IpBytes> addresses) {
  if (addresses.size() == 1) {
    return {.ip = addresses.front()};
  }
  if (std::any_of(addresses.begin(), addresses.end(), [](const auto& ip) { return !config::is_ipv4(ip); })) {
    return {};
  }
  SocketAddress any4;
  any4.ip[10] = any4.ip[11] = 0xff;
  return any4;
}

}  // namespace

bool is_not_now(int error) { return error == EAGAIN || error == EINTR; }

void set_option(int socket, int level, int option, int value) {
  static_cast<void>(setsockopt(socket, level, option, &value, sizeof value));
}

int dial_error(int socket) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

void watch_host(int socket, const HostWatch& watch) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, watch.idle_seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, watch.interval_seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, watch.questions);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, watch.user_timeout_ms);
}

Result<ListeningSocket> listen_tcp(std::span<const config::IpBytes> addresses, std::uint16_t port) {
  SocketAddress local = local_end(addresses);
  local.port = port;
  KernelAddress kernel = to_kernel(local);
  const std::string purpose = fmt::format("cannot listen on {}", ip_text(local.ip));
  Result<PrivateDescriptor> socket = open_socket(kernel.storage.ss_family, purpose);
  if (!socket) {
    return socket.error();
  }
  if (kernel.storage.ss_family == AF_INET6) {
    set_option(socket->get(), IPPROTO_IPV6, IPV6_V6ONLY, addresses.size() == 1 ? 1 : 0);
  }
  auto* address = reinterpret_cast<sockaddr*>(&kernel.storage);
  if (bind(socket->get(), address, kernel.length) != 0 || listen(socket->get(), SOMAXCONN) != 0 ||
      getsockname(socket->get(), address, &kernel.length) != 0) {
    return system_error(purpose, errno);
  }
  return ListeningSocket{std::move(*socket), from_kernel(kernel.storage).port};
}

Result<std::optional<AcceptedSocket>> accept_tcp(int listening) {
  // Errors of a connection that was lost while it waited; they do not concern the next one (accept(2)).
  constexpr std::array kOfTheLost{ECONNABORTED, EPROTO,      ENETDOWN,   ENOPROTOOPT, EHOSTDOWN,
                                  EHOSTUNREACH, ENETUNREACH, EOPNOTSUPP, ENONET};
  KernelAddress peer{.length = sizeof(sockaddr_storage)};
  int socket = -1;
  do {
    socket = accept4(listening, reinterpret_cast<sockaddr*>(&peer.storage), &peer.length,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
  } while (socket < 0 && std::find(kOfTheLost.begin(), kOfTheLost.end(), errno) != kOfTheLost.end());
  if (socket < 0 && is_not_now(errno)) {
    return std::optional<AcceptedSocket>();
  }
  if (socket < 0) {
    return system_error("cannot take a connection (`ulimit -n` says how many descriptors there may be)",
                        errno);
  }
  return std::optional(AcceptedSocket{PrivateDescriptor(Descriptor(socket)), from_kernel(peer.storage)});
}

bool bind_to_interface(int socket, const std::string& interface) {
  return setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, interface.data(),
                    static_cast<socklen_t>(interface.size())) == 0;
}

bool is_bound_to_interface(int socket) {
  std::array<char, IFNAMSIZ> name{};
  socklen_t length = name.size();
  return getsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, name.data(), &length) == 0 && length > 0;
}

// A TCP socket keeps for this question what came with the last packet of the handshake (ip(7), IP_PKTINFO;
// RFC 2292 §7, IPV6_PKTOPTIONS).
unsigned arrival_interface(int socket) {
  constexpr int kV4Options = 9,
                kV6Options = 6;  // IP_PKTOPTIONS of linux/in.h, IPV6_2292PKTOPTIONS of linux/in6.h
  int family = AF_UNSPEC;
  socklen_t length = sizeof family;
  static_cast<void>(getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &length));
  const bool v4 = family == AF_INET;
  const int level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
  set_option(socket, level, v4 ? IP_PKTINFO : IPV6_RECVPKTINFO, 1);
  alignas(cmsghdr) std::array<char, 256> answer{};
  length = answer.size();
  if (getsockopt(socket, level, v4 ? kV4Options : kV6Options, answer.data(), &length) != 0) {
    return 0;
  }
  msghdr message{};
  message.msg_control = answer.data();
  message.msg_controllen = length;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (v4 && part->cmsg_level == level && part->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(part), sizeof info);
      return static_cast<unsigned>(info.ipi_ifindex);
    }
    if (!v4 && part->cmsg_level == level && part->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(part), sizeof info);
      return info.ipi6_ifindex;
    }
  }
  return 0;
}

namespace {

Status bind_to(int socket, const Source& source) {
  if (!source.interface.empty()) {
    bind_to_interface(socket, source.interface);  // without it, the routes decide
  }
  set_option(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  if (source.segment != 0) {
    set_option(socket, IPPROTO_TCP, TCP_MAXSEG, source.segment);
  }
  const KernelAddress from = to_kernel({.ip = source.ip});
  if (bind(socket, reinterpret_cast<const sockaddr*>(&from.storage), from.length) != 0) {
    return system_error(fmt::format("cannot send from {}", ip_text(source.ip)), errno);
  }
  return {};
}

}  // namespace

void ask_who_has(const Source& from, const config::IpBytes& to) {
  constexpr std::uint16_t kDiscard = 9;
  const KernelAddress end = to_kernel({.ip = to, .port = kDiscard});
  const Descriptor socket(::socket(end.storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() >= 0 && bind_to(socket.get(), from)) {
    static_cast<void>(
        sendto(socket.get(), "", 1, 0, reinterpret_cast<const sockaddr*>(&end.storage), end.length));
  }
}

Result<PrivateDescriptor> dial_tcp(const SocketAddress& address, const Source* source) {
  const KernelAddress kernel = to_kernel(address);
  const std::string purpose = fmt::format("cannot connect to {}", to_string(address));
  Result<PrivateDescriptor> socket = open_socket(kernel.storage.ss_family, purpose);
  if (!socket) {
    return socket.error();
  }
  if (const Status bound = source == nullptr ? Status() : bind_to(socket->get(), *source); !bound) {
    return bound.error();
  }
  const auto* end = reinterpret_cast<const sockaddr*>(&kernel.storage);
  if (connect(socket->get(), end, kernel.length) != 0 && errno != EINPROGRESS && !is_not_now(errno)) {
    return system_error(purpose, errno);
  }
  return socket;
}

}  // namespace tfabric::bootstrap
