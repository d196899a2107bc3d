#include "transport/tcp/nic/vhost_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

#include "base/unix_socket.h"

namespace tfabric::nic {
namespace {

constexpr UnixProbe kProbe{.type = SOCK_STREAM};

// A message of the vhost-user protocol without payload: request, flags, size of the payload.
using Header = std::array<std::uint32_t, 3>;
constexpr std::uint32_t kGetFeatures = 1;  // VHOST_USER_GET_FEATURES
constexpr std::uint32_t kVersion = 1, kReply = 1u << 2;

// Asks a socket for its features. Whoever serves another protocol says something else, or nothing.
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

}  // namespace

Status await_vhost(const std::string& path, Duration patience) {
  if (!await_unix_server(path, kProbe, patience)) {
    return Error{Errc::unusable,
                 fmt::format("nobody listens on the vhost-user socket {}: start the virtual switch, or the "
                             "process with the vhost rail, first",
                             path)};
  }
  if (!is_vhost(path)) {
    return Error{
        Errc::unusable,
        fmt::format(
            "whoever listens on {} does not answer as vhost-user does: device must be the socket that "
            "the virtual switch has made for this port",
            path)};
  }
  // A switch that takes one peer at a time is to have noticed that this one has left.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return {};
}

Status free_vhost_socket(const std::string& path) { return free_unix_path(path, kProbe); }

}  // namespace tfabric::nic
