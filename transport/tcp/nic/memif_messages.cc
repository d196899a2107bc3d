// A memif peer that goes away before the driver has written to it must not end the process.
//
// If the driver (DPDK 22.11, memif_socket.c) cannot greet who has just connected, it closes the socket that
// DPDK's interrupt thread still waits for, and that thread panics. So the driver is told that such a message
// has left, as it might have a moment earlier; it reads the end of the connection next, for which it has an
// orderly way.
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

// Callers of sendmsg() are sent here by the linker (--wrap in cmake/dpdk.cmake).
extern "C" ssize_t __real_sendmsg(int fd, const msghdr* message, int flags);
extern "C" ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags);

namespace {

// Of all that is linked in, memif alone has sockets of this type.
bool is_memif(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

ssize_t bytes_of(const msghdr& message) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
    bytes += message.msg_iov[i].iov_len;
  }
  return static_cast<ssize_t>(bytes);
}

}  // namespace

ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags) {
  const ssize_t sent = __real_sendmsg(fd, message, flags);
  const int error = errno;
  if (sent < 0 && (error == EPIPE || error == ECONNRESET) && is_memif(fd)) {
    return bytes_of(*message);
  }
  errno = error;
  return sent;
}
