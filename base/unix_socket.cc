#include "base/unix_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

namespace tfabric {

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), kMaxUnixPath));
  return address;
}

AbstractUnixName::AbstractUnixName(std::string_view name)
    : size_(static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) {
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path + 1, name.data(), name.size());
}

std::optional<ucred> unix_peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? std::optional(peer) : std::nullopt;
}

bool unix_socket_served(const std::string& path, const UnixProbe& probe) {
  if (path.size() > kMaxUnixPath) {
    return false;
  }
  const int fd = ::socket(AF_UNIX, probe.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_un address = unix_address(path);
  const bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  // Only these errors mean that no process listens. EAGAIN, a full accept queue, comes from a live server,
  // and without a free descriptor the answer is unknown.
  constexpr std::array kUnserved{ENOENT, ENOTDIR, ECONNREFUSED, EPROTOTYPE};
  const bool served = connected || std::find(kUnserved.begin(), kUnserved.end(), errno) == kUnserved.end();
  if (connected && probe.greeting > Duration::zero()) {
    pollfd wait{fd, POLLIN, 0};
    static_cast<void>(poll(&wait, 1, static_cast<int>(probe.greeting / std::chrono::milliseconds(1))));
  }
  if (fd >= 0) {
    ::close(fd);
  }
  return served;
}

bool await_unix_server(const std::string& path, const UnixProbe& probe, Duration patience) {
  constexpr auto kLookInterval = std::chrono::milliseconds(20);
  const Instant deadline = monotonic_now() + patience;
  while (!unix_socket_served(path, probe)) {
    if (monotonic_now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(kLookInterval);
  }
  return true;
}

Status free_unix_path(const std::string& path, const UnixProbe& probe) {
  if (path.empty() || path.size() > kMaxUnixPath) {
    return Error{Errc::invalid_usage,
                 fmt::format("the path of a socket has 1 to {} bytes, not {}", kMaxUnixPath, path.size())};
  }
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    const auto folder = std::filesystem::absolute(path).parent_path();
    if (!std::filesystem::is_directory(folder, error)) {
      return Error{Errc::invalid_usage,
                   fmt::format("the folder {} for the socket {} does not exist", folder.string(), path)};
    }
    return {};
  }
  if (status.type() != std::filesystem::file_type::socket) {
    return Error{Errc::invalid_usage,
                 fmt::format("{} exists and is not a socket: choose another path", path)};
  }
  if (unix_socket_served(path, probe)) {
    return Error{Errc::invalid_usage, fmt::format("another process serves {}: choose another path", path)};
  }
  if (!std::filesystem::remove(path, error) && error) {
    return Error{Errc::system, fmt::format("cannot remove the stale socket {}: {}", path, error.message())};
  }
  return {};
}

}  // namespace tfabric
