#include "tests/packetdrill/calls.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

namespace tfabric::drill {
namespace {

struct Endpoint {
  net::IpAddress address;
  std::uint16_t port = 0;
};

Endpoint from_sockaddr(const sockaddr* address) {
  Endpoint result;
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address, sizeof v6);
    std::memcpy(result.address.bytes.data(), &v6.sin6_addr, 16);
    result.port = ntohs(v6.sin6_port);
  } else {
    sockaddr_in v4;
    std::memcpy(&v4, address, sizeof v4);
    const std::uint32_t host_order = ntohl(v4.sin_addr.s_addr);
    result.address = net::IpAddress::v4(
        {static_cast<std::uint8_t>(host_order >> 24), static_cast<std::uint8_t>(host_order >> 16),
         static_cast<std::uint8_t>(host_order >> 8), static_cast<std::uint8_t>(host_order)});
    result.port = ntohs(v4.sin_port);
  }
  return result;
}

template <class Address>
void copy_out(const Address& value, sockaddr* address, socklen_t* size) {
  std::memcpy(address, &value, std::min<std::size_t>(*size, sizeof value));
  *size = sizeof value;
}

void to_sockaddr(const net::IpAddress& ip, std::uint16_t port, sockaddr* address, socklen_t* size) {
  if (address == nullptr) {
    return;
  }
  if (ip.is_v4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, ip.bytes.data() + 12, 4);
    copy_out(v4, address, size);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, ip.bytes.data(), 16);
    copy_out(v6, address, size);
  }
}

std::size_t total_size(std::span<const iovec> pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), std::size_t{0},
                         [](std::size_t sum, const iovec& piece) { return sum + piece.iov_len; });
}

bool has_bad_piece(std::span<const iovec> pieces) {
  return std::any_of(pieces.begin(), pieces.end(),
                     [](const iovec& piece) { return piece.iov_base == nullptr && piece.iov_len > 0; });
}

}  // namespace

int fail(int error) {
  errno = error;
  return -1;
}

int Calls::open(int domain, int type) {
  if ((type & 0xf) != SOCK_STREAM) {
    return fail(EPROTONOSUPPORT);
  }
  // packetdrill closes what is left over by itself: the descriptor must be a real one.
  const int fd = eventfd(0, EFD_CLOEXEC);
  if (fd >= 0) {
    host_.open_socket(fd, domain == AF_INET6).nonblocking = (type & SOCK_NONBLOCK) != 0;
  }
  return fd;
}

int Calls::bind(int fd, const sockaddr* address) {
  Socket* socket = host_.find(fd);
  if (socket == nullptr) {
    return fail(EBADF);
  }
  socket->local_port = from_sockaddr(address).port;
  return 0;
}

int Calls::listen(int fd) {
  Socket* socket = host_.find(fd);
  if (socket == nullptr) {
    return fail(EBADF);
  }
  socket->listening = true;
  return 0;
}

int Calls::accept(int fd, sockaddr* address, socklen_t* size) {
  Socket* listener = host_.find(fd);
  if (listener == nullptr || !listener->listening) {
    return fail(listener == nullptr ? EBADF : EINVAL);
  }
  if (!listener->nonblocking) {
    gate_.wait([&] { return host_.acceptable(*listener) != nullptr; });
  }
  Socket* socket = host_.acceptable(*listener);
  if (socket == nullptr) {
    return fail(EAGAIN);
  }
  socket->fd = eventfd(0, EFD_CLOEXEC);
  socket->listener = nullptr;
  to_sockaddr(socket->remote, socket->remote_port, address, size);
  return socket->fd;
}

int Calls::connect(int fd, const sockaddr* address) {
  Socket* socket = host_.find(fd);
  if (socket == nullptr) {
    return fail(EBADF);
  }
  if (socket->opened()) {
    return fail(socket->was_established ? EISCONN : EALREADY);
  }
  const Endpoint remote = from_sockaddr(address);
  host_.connect(*socket, remote.address, remote.port);
  if (!socket->nonblocking) {
    gate_.wait([socket] { return socket->was_established || socket->pending_error() != 0; });
  }
  if (const int error = socket->take_error(); error != 0) {
    return fail(error);
  }
  return socket->was_established ? 0 : fail(EINPROGRESS);
}

ssize_t Calls::read(int fd, std::span<const iovec> pieces, int flags) {
  Socket* socket = host_.find(fd);
  if (socket == nullptr) {
    return fail(EBADF);
  }
  if (!socket->opened()) {
    return fail(ENOTCONN);
  }
  const auto ready = [socket] { return socket->unread() > 0 || socket->at_end(); };
  if (!socket->nonblocking && (flags & MSG_DONTWAIT) == 0) {
    gate_.wait(ready);
  }
  if (has_bad_piece(pieces) && socket->unread() > 0) {
    return fail(EFAULT);
  }
  std::size_t taken = 0;
  for (const iovec& piece : pieces) {
    taken += socket->read({static_cast<std::byte*>(piece.iov_base), piece.iov_len});
  }
  host_.send_segments(*socket);  // the window may have opened
  if (taken > 0 || total_size(pieces) == 0) {
    return static_cast<ssize_t>(taken);
  }
  if (const int error = socket->take_error(); error != 0) {
    return fail(error);
  }
  return ready() ? 0 : fail(EAGAIN);
}

ssize_t Calls::write(int fd, std::span<const iovec> pieces, int flags) {
  Socket* socket = host_.find(fd);
  if (socket == nullptr) {
    return fail(EBADF);
  }
  const bool blocking = !socket->nonblocking && (flags & MSG_DONTWAIT) == 0;
  if (const int error = socket->take_error(); error != 0) {
    return fail(error);
  }
  if (socket->write_shut || socket->state() == stack::State::closed) {
    return fail(EPIPE);
  }
  if (has_bad_piece(pieces)) {
    return fail(EFAULT);
  }
  std::size_t written = 0;
  for (const iovec& piece : pieces) {
    if (piece.iov_len > 0 && !socket->write({static_cast<std::byte*>(piece.iov_base), piece.iov_len})) {
      return fail(ENOBUFS);
    }
    written += piece.iov_len;
  }
  if (socket->connection->established()) {
    host_.send_segments(*socket);
  }
  if (blocking && socket->unacknowledged() > socket->send_buffer) {
    gate_.wait([socket] { return socket->writable(); });
  }
  return static_cast<ssize_t>(written);
}

int Calls::fcntl(int fd, int command, int argument) {
  Socket* socket = host_.find(fd);
  if (socket == nullptr) {
    return fail(EBADF);
  }
  switch (command) {
    case F_GETFL:
      return O_RDWR | (socket->nonblocking ? O_NONBLOCK : 0);
    case F_SETFL:
      socket->nonblocking = (argument & O_NONBLOCK) != 0;
      return 0;
    default:
      return fail(EINVAL);
  }
}

int Calls::ioctl(int fd, unsigned long request, int* value) {
  Socket* socket = host_.find(fd);
  if (socket == nullptr) {
    return fail(EBADF);
  }
  switch (request) {
    case SIOCINQ:
      *value = static_cast<int>(socket->unread());
      return 0;
    case SIOCOUTQ:
      *value = static_cast<int>(socket->unacknowledged());
      return 0;
    default:
      return fail(EINVAL);
  }
}

int Calls::close(int fd) {
  Socket* socket = host_.find(fd);
  if (socket == nullptr) {
    return fail(EBADF);
  }
  host_.close(*socket);
  return ::close(fd);
}

int Calls::shutdown(int fd, int how) {
  Socket* socket = host_.find(fd);
  if (socket == nullptr) {
    return fail(EBADF);
  }
  if (socket->connection == nullptr || !socket->connection->established()) {
    return fail(ENOTCONN);
  }
  socket->read_shut = socket->read_shut || how != SHUT_WR;
  if (how != SHUT_RD) {
    socket->write_shut = true;
    socket->connection->close();
    host_.send_segments(*socket);
  }
  return 0;
}

short Calls::events(Socket& socket) {
  if (socket.listening) {
    return host_.acceptable(socket) != nullptr ? POLLIN : 0;
  }
  if (!socket.opened()) {
    return POLLOUT | POLLHUP;
  }
  int events = 0;
  if (socket.unread() > 0 || socket.at_end()) {
    events |= POLLIN | POLLRDNORM;
  }
  if (socket.was_established && socket.writable()) {
    events |= POLLOUT | POLLWRNORM;
  }
  if (socket.at_end()) {
    events |= POLLRDHUP;
  }
  if (socket.pending_error() != 0) {
    events |= POLLERR;
  }
  if (socket.state() == stack::State::closed) {
    events |= POLLHUP;
  }
  return static_cast<short>(events);
}

int Calls::poll(std::span<pollfd> fds, int timeout_ms) {
  const auto ready = [&] {
    int count = 0;
    for (pollfd& entry : fds) {
      Socket* socket = host_.find(entry.fd);
      const int found = socket == nullptr ? POLLNVAL : events(*socket);
      entry.revents = static_cast<short>(found & (entry.events | POLLERR | POLLHUP | POLLNVAL));
      count += entry.revents != 0 ? 1 : 0;
    }
    return count;
  };
  if (timeout_ms != 0) {
    gate_.wait([&] { return ready() > 0; });
  }
  return ready();
}

}  // namespace tfabric::drill
