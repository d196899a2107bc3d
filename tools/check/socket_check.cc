#include "tools/check/socket_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace tfabric::check {
namespace {

// Or else connects to one that is there.
bool makes_socket(const config::Rail& rail) {
  return rail.kind == config::RailKind::vhost ||
         (rail.kind == config::RailKind::memif && rail.role == config::MemifRole::server);
}

}  // namespace

void check_socket_rail(const Host& host, const config::Rail& rail, Findings& findings) {
  const std::string subject = "rail " + rail.name;
  const std::string folder = std::filesystem::path(rail.device).parent_path();
  if (!host.exists(folder)) {
    findings.error(Id::socket_folder_missing, subject,
                   fmt::format("the folder of the socket {} is not there", rail.device),
                   fmt::format("mkdir -p {0}; a container: mount it (-v {0}:{0})", folder));
  } else if (makes_socket(rail)) {
    if (!host.access(folder, W_OK | X_OK)) {
      findings.error(Id::socket_folder_denied, subject,
                     fmt::format("this user (uid {}) may not make the socket {}", host.user(), rail.device),
                     fmt::format("chown {} {}, or name a folder of the user's", host.user(), folder));
    }
  } else if (!host.exists(rail.device)) {
    findings.warning(
        Id::socket_missing, subject,
        fmt::format("nobody has made the socket {} yet; a job waits 10 seconds for it", rail.device),
        rail.kind == config::RailKind::memif
            ? "start the other end first: the rail there has role = \"server\""
            : "start the virtual switch, and make its port");
  } else if (!host.access(rail.device, R_OK | W_OK)) {
    findings.error(Id::socket_denied, subject,
                   fmt::format("this user (uid {}) may not use the socket {}", host.user(), rail.device),
                   fmt::format("let whoever makes it give it away: chmod a+rw {}", rail.device));
  }
}

}  // namespace tfabric::check
