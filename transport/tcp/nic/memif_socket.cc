#include "transport/tcp/nic/memif_socket.h"

#include <fmt/format.h>

#include "base/unix_socket.h"

namespace tfabric::nic {
namespace {

constexpr UnixProbe kProbe{.type = SOCK_SEQPACKET, .greeting = std::chrono::seconds(1)};

}  // namespace

bool memif_served(const std::string& path) { return unix_socket_served(path, kProbe); }

Status await_memif_server(const std::string& path, Duration patience) {
  if (await_unix_server(path, kProbe, patience)) {
    return {};
  }
  return Error{Errc::unusable,
               fmt::format("no memif server listens on {}: start the other end first, as `tfabric wire` or "
                           "with role = \"server\"",
                           path)};
}

Status free_memif_socket(const std::string& path) { return free_unix_path(path, kProbe); }

}  // namespace tfabric::nic
