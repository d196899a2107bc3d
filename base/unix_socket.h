// Unix sockets in the file system: whether a process serves one, and removal of stale ones.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace tfabric {

// The most bytes that the path of a socket can have.
inline constexpr std::size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;

// `path` has at most kMaxUnixPath bytes.
[[nodiscard]] sockaddr_un unix_address(const std::string& path);

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
