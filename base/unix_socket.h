// Unix sockets that lie in the file system: who serves them, and what a process that died left behind.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace tfabric {

// Bytes of the longest path that a socket can have.
inline constexpr std::size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;

// `path` has at most kMaxUnixPath bytes.
[[nodiscard]] sockaddr_un unix_address(const std::string& path);

// How to ask whether a process listens on a path: it is connected to, and left again. Who cannot find out,
// for want of a descriptor, takes it for served.
struct UnixProbe {
  int type = SOCK_STREAM;  // of the server's socket
  Duration greeting{};     // leave only after the server's first message, or so much later
};
[[nodiscard]] bool unix_socket_served(const std::string& path, const UnixProbe& probe);
// Blocks until a process listens on the path, or `patience` has passed: false.
[[nodiscard]] bool await_unix_server(const std::string& path, const UnixProbe& probe, Duration patience);

// Makes `path` free to be bound: removes a socket that nobody serves any more. Errors: somebody serves it,
// it is something else than a socket, its folder is missing, or it is too long.
Status free_unix_path(const std::string& path, const UnixProbe& probe);

}  // namespace tfabric
