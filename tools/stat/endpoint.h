// "HOST:PORT" as users type it, for `tfabric stat --serve` and `--hosts`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tfabric::stat {

// The port of `tfabric stat --serve`, where nothing else is said.
inline constexpr std::uint16_t kServePort = 9469;

struct Endpoint {
  std::string host;  // a name or an address, IPv6 without brackets
  std::uint16_t port = kServePort;

  // IPv6 in brackets.
  [[nodiscard]] std::string text() const;
};

// Takes "HOST", "HOST:PORT", "[IPV6]", "[IPV6]:PORT", and an IPv6 address without a port as it is.
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text);

}  // namespace tfabric::stat
