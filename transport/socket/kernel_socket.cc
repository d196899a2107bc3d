#include "transport/socket/kernel_socket.h"

#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace tfabric::socket {
namespace {

struct KernelAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// IPv4 addresses become AF_INET, so that hosts without IPv6 can use them.
KernelAddress to_kernel(const End& end) {
  KernelAddress result;
  if (end.address.is_v4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(end.port);
    std::memcpy(&v4.sin_addr, &end.address.bytes[12], sizeof v4.sin_addr);
    std::memcpy(&result.storage, &v4, sizeof v4);
    result.length = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(end.port);
    std::memcpy(&v6.sin6_addr, end.address.bytes.data(), sizeof v6.sin6_addr);
    std::memcpy(&result.storage, &v6, sizeof v6);
    result.length = sizeof v6;
  }
  return result;
}

End from_kernel(const sockaddr_storage& storage) {
  End end;
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &storage, sizeof v6);
    std::memcpy(end.address.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    end.port = ntohs(v6.sin6_port);
  } else if (storage.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &storage, sizeof v4);
    end.address.bytes[10] = end.address.bytes[11] = std::byte{0xff};
    std::memcpy(&end.address.bytes[12], &v4.sin_addr, sizeof v4.sin_addr);
    end.port = ntohs(v4.sin_port);
  }
  return end;
}

Error failure(const std::string& what) {
  return {Errc::unusable, fmt::format("{}: {}", what, std::strerror(errno))};
}

Result<Descriptor> open_socket(const net::IpAddress& address) {
  Descriptor made(::socket(address.is_v4() ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                           IPPROTO_TCP));
  if (made.get() < 0) {
    return failure("cannot open a TCP socket");
  }
  return made;
}

// Options that a kernel does not know have no effect.
void set(int socket, int level, int option, int value) {
  static_cast<void>(::setsockopt(socket, level, option, &value, sizeof value));
}

int in_ms(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

std::string to_string(const End& end) {
  const std::string text = net::to_string(end.address);
  return end.address.is_v4() ? fmt::format("{}:{}", text, end.port) : fmt::format("[{}]:{}", text, end.port);
}

Result<Descriptor> listen_at(const net::IpAddress& address) {
  Result<Descriptor> made = open_socket(address);
  if (!made) {
    return made;
  }
  const KernelAddress at = to_kernel({address, 0});
  constexpr int kBacklog = 4096;  // the kernel takes less where net.core.somaxconn says so
  if (::bind(made->get(), at.get(), at.length) != 0 || ::listen(made->get(), kBacklog) != 0) {
    return failure(fmt::format("cannot listen at {}", net::to_string(address)));
  }
  return made;
}

Result<Descriptor> begin_connect(const net::IpAddress& from, const std::string& interface, const End& to) {
  Result<Descriptor> made = open_socket(to.address);
  if (!made) {
    return made;
  }
  if (!interface.empty()) {
    static_cast<void>(::setsockopt(made->get(), SOL_SOCKET, SO_BINDTODEVICE, interface.data(),
                                   static_cast<socklen_t>(interface.size())));
  }
  set(made->get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  const KernelAddress source = to_kernel({from, 0}), target = to_kernel(to);
  if (::bind(made->get(), source.get(), source.length) != 0) {
    return failure(fmt::format("cannot send from {}", net::to_string(from)));
  }
  if (::connect(made->get(), target.get(), target.length) != 0 && errno != EINPROGRESS) {
    return failure(fmt::format("cannot connect from {} to {}", net::to_string(from), to_string(to)));
  }
  return made;
}

void set_limits(int socket, const SocketLimits& limits) {
  constexpr int kRtoMinUs = 45;  // TCP_RTO_MIN_US of linux/tcp.h, since Linux 6.15
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, in_ms(limits.user_timeout));
  // Longer than a kernel delays its acknowledgements (40 ms); by default a lost tail costs 200 ms, and a dead
  // path is noticed late.
  set(socket, IPPROTO_TCP, kRtoMinUs, 50000);
  if (limits.keepalive_idle <= Duration::zero()) {
    return;
  }
  constexpr int kProbes = 5;
  const int idle = std::max(in_ms(limits.keepalive_idle) / 1000, 1);
  const int probing = in_ms(limits.user_timeout - limits.keepalive_idle) / 1000;
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, idle);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(probing / kProbes, 1));
}

End local_end(int socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  static_cast<void>(::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &length));
  return from_kernel(storage);
}

End remote_end(int socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  static_cast<void>(::getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &length));
  return from_kernel(storage);
}

stack::ConnectionError error_of(int number) {
  switch (number) {
    case ECONNREFUSED:
      return stack::ConnectionError::refused;
    case ETIMEDOUT:
      return stack::ConnectionError::timed_out;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case EADDRNOTAVAIL:
    case ENODEV:
      return stack::ConnectionError::unreachable;
    default:
      return stack::ConnectionError::reset;
  }
}

KernelView view_of(int socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) {
    return {};
  }
  return {.timeouts_in_row = info.tcpi_retransmits, .srtt = std::chrono::microseconds(info.tcpi_rtt)};
}

}  // namespace tfabric::socket
