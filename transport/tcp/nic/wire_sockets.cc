#include "transport/tcp/nic/wire_sockets.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <thread>

#include "base/unix_socket.h"
#include "transport/tcp/nic/device_holders.h"

// DPDK calls it instead of sendmsg(2): see dpdk_calls.cc.
extern "C" ssize_t tfabric_dpdk_sendmsg(int fd, const msghdr* message, int flags);

namespace tfabric::nic {
namespace {

constexpr UnixProbe kMemif{.type = SOCK_SEQPACKET, .greeting = std::chrono::seconds(1)};
constexpr UnixProbe kVhost{.type = SOCK_STREAM};

// A message of the vhost-user protocol without payload: request, flags, size of the payload.
using Header = std::array<std::uint32_t, 3>;
constexpr std::uint32_t kGetFeatures = 1;  // VHOST_USER_GET_FEATURES
constexpr std::uint32_t kVersion = 1, kReply = 1u << 2;

// Asks a socket for its features. A server of another protocol answers something else, or nothing.
bool answers(int fd) {
  constexpr int kPatienceMs = 10'000;  // DPDK looks at a new socket after up to a second
  const Header request{kGetFeatures, kVersion, 0};
  if (::send(fd, request.data(), sizeof request, MSG_NOSIGNAL) != sizeof request) {
    return false;
  }
  pollfd wait{fd, POLLIN, 0};
  Header reply{};
  return poll(&wait, 1, kPatienceMs) == 1 &&
         ::recv(fd, reply.data(), sizeof reply, MSG_DONTWAIT) == sizeof reply && reply[0] == kGetFeatures &&
         reply[1] == (kVersion | kReply);
}

bool is_vhost(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return false;
  }
  const sockaddr_un address = unix_address(path);
  const bool good =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && answers(fd);
  ::close(fd);
  return good;
}

// Names the process that has the socket, in an error about it.
Status with_holders(const std::string& path, const Status& status) {
  const std::string holders = status ? std::string() : holders_of_unix_socket(path);
  return holders.empty()
             ? status
             : Error{status.error().code, fmt::format("{} ({} has it)", status.error().message, holders)};
}

}  // namespace

Status await_memif_server(const std::string& path, Duration patience) {
  if (await_unix_server(path, kMemif, patience)) {
    return {};
  }
  return Error{Errc::unusable,
               fmt::format("no memif server listens on {}: start the other end first, with role = "
                           "\"server\"",
                           path)};
}

Status free_memif_socket(const std::string& path) { return with_holders(path, free_unix_path(path, kMemif)); }

Status await_vhost(const std::string& path, Duration patience) {
  if (!await_unix_server(path, kVhost, patience)) {
    return Error{
        Errc::unusable,
        fmt::format("no process listens on the vhost-user socket {}: start the virtual switch, or the "
                    "process with the vhost rail, first",
                    path)};
  }
  if (!is_vhost(path)) {
    return Error{Errc::unusable, fmt::format("the process that listens on {} does not answer as vhost-user "
                                             "does: device must be the socket that "
                                             "the virtual switch has made for this port",
                                             path)};
  }
  // A switch that takes one peer at a time needs a moment to notice that this one has left.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return {};
}

Status free_vhost_socket(const std::string& path) { return with_holders(path, free_unix_path(path, kVhost)); }

}  // namespace tfabric::nic

// --- a memif peer that goes away before the driver has greeted it

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

// If the driver (DPDK 22.11, memif_socket.c) cannot greet a peer that has just connected, it closes the
// socket that DPDK's interrupt thread still waits for, and that thread panics, which would end the process.
// So the message is reported as sent, as it might have been a moment earlier. The driver then reads the end
// of the connection, which it handles well.
ssize_t tfabric_dpdk_sendmsg(int fd, const msghdr* message, int flags) {
  const ssize_t sent = ::sendmsg(fd, message, flags);
  const int error = errno;
  if (sent < 0 && (error == EPIPE || error == ECONNRESET) && is_memif(fd)) {
    return bytes_of(*message);
  }
  errno = error;
  return sent;
}
