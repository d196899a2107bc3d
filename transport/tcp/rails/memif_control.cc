// The control sockets of memif rails: datagram sockets in the abstract namespace.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "transport/tcp/rails/memif_rail.h"

namespace tfabric::tcp {
namespace {

constexpr std::uint64_t kMagic = 0x31666d2d62616674;  // "tfab-mf1"

struct Datagram {
  std::uint64_t magic;
  std::uint64_t from;
};

socklen_t make_address(std::uint64_t process, sockaddr_un& address) {
  const std::string name = fmt::format("tfabric-{:016x}", process);
  address = {};
  address.sun_family = AF_UNIX;
  // A first byte of zero is the abstract namespace: the socket leaves no file behind (unix(7)).
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool same_user(const msghdr& message) {
  for (cmsghdr* item = CMSG_FIRSTHDR(&message); item != nullptr;
       item = CMSG_NXTHDR(const_cast<msghdr*>(&message), item)) {
    if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials{};
      std::memcpy(&credentials, CMSG_DATA(item), sizeof credentials);
      return credentials.uid == geteuid();
    }
  }
  return false;
}

}  // namespace

Result<Descriptor> open_memif_control(std::uint64_t process) {
  Descriptor made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.get() < 0) {
    return Error{Errc::system,
                 fmt::format("cannot make a Unix socket: {}", std::generic_category().message(errno))};
  }
  const int on = 1;
  sockaddr_un address;
  const socklen_t size = make_address(process, address);
  if (setsockopt(made.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      bind(made.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    return Error{Errc::system, fmt::format("cannot bind the Unix socket @tfabric-{:016x}: {}", process,
                                           std::generic_category().message(errno))};
  }
  return made;
}

bool ask_memif_peer(int socket, std::uint64_t from, std::uint64_t to) {
  const Datagram datagram{kMagic, from};
  sockaddr_un address;
  const socklen_t size = make_address(to, address);
  // Only these two errors mean that no process listens. On others, such as a full queue, the caller asks
  // again.
  return sendto(socket, &datagram, sizeof datagram, MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address),
                size) >= 0 ||
         (errno != ECONNREFUSED && errno != ENOENT);
}

std::optional<std::uint64_t> next_memif_request(int socket) {
  for (;;) {
    Datagram datagram{};
    iovec data{&datagram, sizeof datagram};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (n < 0) {
      return std::nullopt;
    }
    if (n == sizeof datagram && datagram.magic == kMagic && datagram.from != 0 && same_user(message)) {
      return datagram.from;
    }
  }
}

}  // namespace tfabric::tcp
