// Unix sockets: abstract names, and those in the file system: whether a process serves one, and removal of
// stale ones.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace tfabric {

// The most bytes that the path of a socket can have.
inline constexpr std::size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;

// `path` has at most kMaxUnixPath bytes.
[[nodiscard]] sockaddr_un unix_address(const std::string& path);

// A name in the abstract namespace, which is a network namespace's and leaves no file behind (unix(7)).
class AbstractUnixName {
 public:
  // `name` has at most kMaxUnixPath bytes.
  explicit AbstractUnixName(std::string_view name);
  // As the functions of this name: 0, or -1 with errno.
  [[nodiscard]] int bind(int socket) const { return ::bind(socket, address(), size_); }
  [[nodiscard]] int connect(int socket) const { return ::connect(socket, address(), size_); }

 private:
  [[nodiscard]] const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  sockaddr_un address_{};
  socklen_t size_;
};
// Returns who connected, or called listen(); not who has got the socket since. Nothing if the kernel does not
// say.
[[nodiscard]] std::optional<ucred> unix_peer_of(int socket);

// How to find out whether a process listens on a path: by connecting to it and closing the connection.
struct UnixProbe {
  int type = SOCK_STREAM;  // of the server's socket
  Duration greeting{};     // how long to wait for the server's first message before closing
};
// Returns true as well if this process has no descriptor left to find out.
[[nodiscard]] bool unix_socket_served(const std::string& path, const UnixProbe& probe);
// Blocks until a process listens on the path. Returns false if `patience` has passed before.
[[nodiscard]] bool await_unix_server(const std::string& path, const UnixProbe& probe, Duration patience);

// Makes `path` free for bind(): removes a socket that no process serves any more. Errors: a process serves
// it, it is not a socket, its folder is missing, or it is too long.
Status free_unix_path(const std::string& path, const UnixProbe& probe);

}  // namespace tfabric
