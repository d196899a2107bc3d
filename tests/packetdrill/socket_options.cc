#include "tests/packetdrill/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/packetdrill/calls.h"
#include "tests/packetdrill/profile.h"
#include "tests/packetdrill/tcp_info.h"

namespace tfabric::drill {
namespace {

int answer(const void* from, std::size_t from_size, void* value, socklen_t* size) {
  const std::size_t n = std::min<std::size_t>(*size, from_size);
  std::memcpy(value, from, n);
  *size = static_cast<socklen_t>(n);
  return 0;
}

int answer_int(int number, void* value, socklen_t* size) {
  return answer(&number, sizeof number, value, size);
}

int maximum_segment(const Socket& socket) {
  if (socket.connection && socket.connection->established()) {
    return static_cast<int>(socket.connection->info().mss);
  }
  return socket.mss.value_or(profile().options(socket.ipv6).mss);
}

int get_tcp_option(Host& host, Socket& socket, int name, void* value, socklen_t* size) {
  switch (name) {
    case TCP_INFO:
      if (socket.connection) {
        host.send_segments(socket);  // times are counted up to the last time it was asked
      }
      return fill_tcp_info(socket, host.now(), value, size);
    case TCP_CC_INFO:
      *size = 0;  // our congestion control has nothing to say here
      return 0;
    case TCP_MAXSEG:
      return answer_int(maximum_segment(socket), value, size);
    case TCP_USER_TIMEOUT:
      return answer_int(
          static_cast<int>(socket.user_timeout.value_or(Duration::zero()) / std::chrono::milliseconds(1)),
          value, size);
    case TCP_NODELAY:
      return answer_int(1, value, size);  // the machine has no Nagle algorithm
    default:
      return fail(ENOPROTOOPT);
  }
}

int get_socket_option(Socket& socket, int name, void* value, socklen_t* size) {
  switch (name) {
    case SO_ERROR:
      return answer_int(socket.take_error(), value, size);
    case SO_SNDBUF:
      return answer_int(static_cast<int>(socket.send_buffer), value, size);
    case SO_MEMINFO:
      std::memset(value, 0, *size);  // Linux's memory accounting
      return 0;
    default:
      return fail(ENOPROTOOPT);
  }
}

int set_tcp_option(Socket& socket, int name, int number) {
  switch (name) {
    case TCP_MAXSEG:
      socket.mss = static_cast<std::uint16_t>(number);
      return 0;
    case TCP_USER_TIMEOUT:
      socket.user_timeout = std::chrono::milliseconds(number);
      if (socket.connection) {
        socket.connection->set_user_timeout(*socket.user_timeout);
      }
      return 0;
    case TCP_NODELAY:
      return number != 0 ? 0 : fail(ENOPROTOOPT);
    default:
      return fail(ENOPROTOOPT);
  }
}

}  // namespace

int get_option(Host& host, int fd, int level, int name, void* value, socklen_t* size) {
  Socket* socket = host.find(fd);
  if (socket == nullptr) {
    return fail(EBADF);
  }
  switch (level) {
    case SOL_SOCKET:
      return get_socket_option(*socket, name, value, size);
    case IPPROTO_TCP:
      return get_tcp_option(host, *socket, name, value, size);
    default:
      return fail(ENOPROTOOPT);
  }
}

int set_option(Host& host, int fd, int level, int name, const void* value, socklen_t size) {
  Socket* socket = host.find(fd);
  if (socket == nullptr) {
    return fail(EBADF);
  }
  int number = 0;
  std::memcpy(&number, value, std::min<std::size_t>(size, sizeof number));
  if (level == IPPROTO_TCP) {
    return set_tcp_option(*socket, name, number);
  }
  if (level == SOL_SOCKET && name == SO_SNDBUF) {
    socket->send_buffer = 2 * static_cast<std::uint32_t>(number);  // as Linux does
    return 0;
  }
  if (level == SOL_SOCKET && name == SO_RCVBUF) {
    socket->receive_buffer = static_cast<std::uint32_t>(number);  // before the connection is opened
    return 0;
  }
  // Without a meaning here: an interface without a cable has no routes, no addresses in use and no TOS.
  const bool harmless = (level == SOL_SOCKET && name == SO_REUSEADDR) ||
                        (level == IPPROTO_IP && (name == IP_TOS || name == IP_MTU_DISCOVER));
  return harmless ? 0 : fail(ENOPROTOOPT);
}

}  // namespace tfabric::drill
