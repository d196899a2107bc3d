// What a listener serves, to whom, and how its user learns what to type on the other host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tfabric::control {

// A listener answers nothing to a connection that does not show this token and expect this service.
struct Invitation {
  std::string service;  // the command that listens, without --listen: "tfabric perf"
  std::string token;
};

// Returns the invitation with `token`, or with a new random one if that is empty; fails if there can be none.
[[nodiscard]] Result<Invitation> invite(std::string service, std::string token);

// Returns this host's name for a command line of another host; "HOST" if it has none that a shell takes as it
// is.
[[nodiscard]] std::string host_name();

// Returns the line that a listening command prints once it listens: for whom it waits, and the whole command
// for the other host, which is `command` with the token and, unless it is the default, the port.
[[nodiscard]] std::string announcement(std::string_view awaited, std::string_view command,
                                       const Invitation& invitation, std::uint16_t port,
                                       std::uint16_t default_port);

}  // namespace tfabric::control
