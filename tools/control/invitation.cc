#include "tools/control/invitation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "tools/control/token.h"

namespace tfabric::control {

Result<Invitation> invite(std::string service, std::string token) {
  if (token.empty()) {
    Result<std::string> made = make_token();
    if (!made) {
      return made.error();
    }
    token = std::move(*made);
  }
  return Invitation{.service = std::move(service), .token = std::move(token)};
}

std::string host_name() {
  std::array<char, 256> name{};
  const std::string_view text(gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "");
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  const bool plain =
      !text.empty() && text.front() != '-' && text.find_first_not_of(kAllowed) == std::string_view::npos;
  return plain ? std::string(text) : "HOST";
}

std::string announcement(std::string_view awaited, std::string_view command, const Invitation& invitation,
                         std::uint16_t port, std::uint16_t default_port) {
  const std::string more = port == default_port ? "" : fmt::format(" --port {}", port);
  return fmt::format("waiting for {} on port {}; on the other host, run:\n    {} --token {}{}\n", awaited,
                     port, command, invitation.token, more);
}

}  // namespace tfabric::control
