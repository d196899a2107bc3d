#include "transport/rdma/session/socket.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "transport/rdma/discovery/gid.h"

namespace tfabric::rdma::session {

namespace {

Error system_error(const std::string& what, int error) {
  return {Errc::system, fmt::format("{}: {}", what, std::generic_category().message(error))};
}

bool is_not_now(int error) { return error == EAGAIN || error == EINTR; }

void set_option(const Socket& socket, int level, int option, int value) {
  // The exchange does not depend on any of these options, so a kernel without one is not an error.
  static_cast<void>(setsockopt(socket.get(), level, option, &value, sizeof value));
}

// Probe the peer after 5 s of silence, then every 3 s; give it up after five unanswered probes.
void watch_peer(const Socket& socket) {
  constexpr int kIdleSeconds = 5, kIntervalSeconds = 3, kQuestions = 5;
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kIntervalSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kQuestions);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

class SocketStream final : public Stream {
 public:
  explicit SocketStream(Socket socket) : socket_(std::move(socket)) { watch_peer(socket_); }

  Transfer read(std::span<std::byte> bytes) override {
    const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0) {
      return {.error = is_not_now(errno) ? 0 : errno};
    }
    return {.bytes = static_cast<std::size_t>(count), .closed = count == 0 && !bytes.empty()};
  }
  // While the connection is being established, the kernel returns EAGAIN.
  Transfer write(std::span<const std::byte> bytes) override {
    const ssize_t count = send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) {
      return {.error = is_not_now(errno) ? 0 : errno};
    }
    return {.bytes = static_cast<std::size_t>(count)};
  }

 private:
  Socket socket_;
};

Result<Socket> open_socket(int family, const std::string& purpose) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    return system_error(purpose, errno);
  }
  return socket;
}

// Returns the address to bind to. The unspecified IPv6 address covers all of the host's addresses, IPv4
// included.
SocketAddress local_end(std::span<const config::IpBytes> addresses) {
  if (addresses.size() == 1) {
    return {.ip = addresses.front()};
  }
  if (std::any_of(addresses.begin(), addresses.end(), [](const auto& ip) { return !is_ipv4(ip); })) {
    return {};
  }
  SocketAddress any4;
  any4.ip[10] = any4.ip[11] = 0xff;
  return any4;
}

}  // namespace

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Result<ListeningSocket> listen_tcp(std::span<const config::IpBytes> addresses) {
  const SocketAddress local = local_end(addresses);
  KernelAddress kernel = to_kernel(local);
  const std::string purpose = fmt::format("cannot listen on {}", ip_text(local.ip));
  Result<Socket> socket = open_socket(kernel.storage.ss_family, purpose);
  if (!socket) {
    return socket.error();
  }
  if (kernel.storage.ss_family == AF_INET6) {
    set_option(*socket, IPPROTO_IPV6, IPV6_V6ONLY, addresses.size() == 1 ? 1 : 0);
  }
  auto* address = reinterpret_cast<sockaddr*>(&kernel.storage);
  if (bind(socket->get(), address, kernel.length) != 0 || listen(socket->get(), SOMAXCONN) != 0 ||
      getsockname(socket->get(), address, &kernel.length) != 0) {
    return system_error(purpose, errno);
  }
  return ListeningSocket{std::move(*socket), from_kernel(kernel.storage).port};
}

Result<std::optional<AcceptedStream>> accept_tcp(const Socket& listening) {
  // Errors of a connection that was lost while it waited; they do not concern the next one (accept(2)).
  constexpr std::array kOfTheLost{ECONNABORTED, EPROTO,      ENETDOWN,   ENOPROTOOPT, EHOSTDOWN,
                                  EHOSTUNREACH, ENETUNREACH, EOPNOTSUPP, ENONET};
  KernelAddress peer{.length = sizeof(sockaddr_storage)};
  Socket socket;
  do {
    socket = Socket(accept4(listening.get(), reinterpret_cast<sockaddr*>(&peer.storage), &peer.length,
                            SOCK_NONBLOCK | SOCK_CLOEXEC));
  } while (!socket.valid() && std::find(kOfTheLost.begin(), kOfTheLost.end(), errno) != kOfTheLost.end());
  if (!socket.valid() && is_not_now(errno)) {
    return std::optional<AcceptedStream>();
  }
  if (!socket.valid()) {
    return system_error("cannot take a connection (`ulimit -n` says how many descriptors there may be)",
                        errno);
  }
  SocketAddress address = from_kernel(peer.storage);
  return std::optional(AcceptedStream{std::make_unique<SocketStream>(std::move(socket)), address});
}

Result<std::unique_ptr<Stream>> dial_tcp(const SocketAddress& address) {
  const KernelAddress kernel = to_kernel(address);
  const std::string purpose = fmt::format("cannot connect to {}", to_string(address));
  Result<Socket> socket = open_socket(kernel.storage.ss_family, purpose);
  if (!socket) {
    return socket.error();
  }
  const auto* end = reinterpret_cast<const sockaddr*>(&kernel.storage);
  if (connect(socket->get(), end, kernel.length) != 0 && errno != EINPROGRESS && !is_not_now(errno)) {
    return system_error(purpose, errno);
  }
  return std::unique_ptr<Stream>(std::make_unique<SocketStream>(std::move(*socket)));
}

}  // namespace tfabric::rdma::session
